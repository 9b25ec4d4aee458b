"""Counts of a table of assays."""

from towpath.data.tables.assay_counts import AssayCounts, counted


def test_rows_assays_and_labels_are_counted_as_the_file_has_them(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("smiles,a,b,c\nC,1,,\nCC,0,2.5,\nnonsense,1,,\n")
    assert counted(path) == AssayCounts(compounds=3, assays=3, labels=4, filled=2)
    assert str(counted(path)) == "3 compounds, 3 assays, 4 labels"

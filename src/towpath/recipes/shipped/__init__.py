"""The recipes that come with towpath, one YAML file each."""

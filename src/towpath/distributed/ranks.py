"""Several processes that share the tasks of a mini-batch: who owns what, and what is sent.

    R            number of ranks (processes), started by torchrun
    tasks        rank r evaluates the tasks r, r + R, r + 2R, ... of every mini-batch (maybe none)
    coordinates  rank r owns one slice of the P parameters, of ceil(P / R) at most

Only two collectives are used: all-to-all and all-gather. A sum of large arrays is made slice by
slice, each by the rank that owns it, and a sum of a few numbers by every rank from the same numbers
in the order of the ranks: so all ranks have the same bits and take the same branches. `ALONE` is
the group of one, in which every method returns what it was given.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

from towpath.distributed.torchrun import LostRankError

Result = TypeVar("Result")


class Ranks:
    """The group of ranks of a run, as seen by one of them."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.sent = 0
        """bytes that this rank has sent to the others"""
        self.exchanges = 0
        """in so many exchanges of all ranks"""

    @property
    def is_first(self) -> bool:
        """Whether this is the one rank that writes files and shows progress."""
        return self.rank == 0

    # who owns what

    def own(self, count: int) -> range:
        """Return the indices of this rank's tasks among `count` tasks."""
        return range(self.rank, count, self.size)

    def part(self, whole: Tensor) -> Tensor:
        """Return this rank's coordinates of `[..., P]`, copied so that the rest can be freed."""
        if self.size == 1:
            return whole
        start, stop = self.bounds(whole.shape[-1])
        return whole[..., start:stop].clone()

    def bounds(self, P: int, rank: int | None = None) -> tuple[int, int]:
        """Return the first coordinate of a rank's slice, and the one after its last."""
        length, rank = -(-P // self.size), self.rank if rank is None else rank
        return min(rank * length, P), min((rank + 1) * length, P)

    # rows of tasks, columns of coordinates

    def gathered(self, rows: Tensor, count: int) -> Tensor:
        """Gather the rows `[m, n]` of each rank's own tasks; return those of all, `[count, n]`."""
        if self.size == 1:
            return rows
        most = -(-count // self.size)
        padded = rows.new_zeros(most, rows.shape[1])
        padded[: len(rows)] = rows
        # task i lies at [i % R, i // R]
        return self._all_gather(padded).transpose(0, 1).reshape(-1, rows.shape[1])[:count]

    def columns(self, rows: Tensor, count: int) -> Tensor:
        """Exchange the rows `[m, P]` of each rank's own tasks for columns of all tasks.

        The transposition sends (R - 1) / R of the rank's own rows; gathering them everywhere would
        send all of them R - 1 times.

        Returns:
            the rank's own coordinates of all tasks, `[count, c]`.
        """
        if self.size == 1:
            return rows
        width = self._width(rows.shape[1])
        counts = [len(range(rank, count, self.size)) for rank in range(self.size)]
        received = self._all_to_all(rows, [n * width for n in counts])
        result = rows.new_empty(count, width)
        for rank, block in enumerate(received):
            result[rank :: self.size] = block.view(counts[rank], width)
        return result

    # sums

    def summed_part(self, mine: Tensor) -> Tensor:
        """Return the sum over ranks of arrays `[..., P]`, at this rank's own coordinates."""
        if self.size == 1:
            return mine
        shape = (*mine.shape[:-1], self._width(mine.shape[-1]))
        numbers = mine[..., :1].numel() * shape[-1]
        received = self._all_to_all(mine, [numbers] * self.size)
        return torch.stack(received).sum(0).view(shape)

    def joined(self, part: Tensor, P: int) -> Tensor:
        """Return the whole vector `[P]`, of which each rank has its own coordinates."""
        if self.size == 1:
            return part
        padded = part.new_zeros(-(-P // self.size))
        padded[: len(part)] = part
        return self._all_gather(padded).reshape(-1)[:P]

    def summed(self, mine: Tensor) -> Tensor:
        """Return the whole sum over ranks of vectors `[P]` on every rank."""
        return mine if self.size == 1 else self.joined(self.summed_part(mine), len(mine))

    def total(self, few: Tensor) -> Tensor:
        """Return the sum over ranks of a few numbers, on every rank, in one exchange."""
        return few if self.size == 1 else self._all_gather(few.contiguous()).sum(0)

    # one decision for all

    def first(self, call: Callable[[], Result]) -> Result:
        """Call the function on the first rank only, and return its result on all ranks.

        A ValueError, as wrong input of the user causes, is raised on all ranks as well.
        """
        if self.size == 1:
            return call()
        import torch.distributed as dist

        answer: list[Any] = [None, None]
        if self.is_first:
            try:
                answer = [call(), None]
            except ValueError as error:
                answer = [None, error]
        with self.together():
            dist.broadcast_object_list(answer, src=0)
        if answer[1] is not None:
            raise answer[1]
        result: Result = answer[0]
        return result

    def check_agreement(self, arrays: Sequence[Tensor]) -> None:
        """Raise LostRankError unless all ranks have the same bits in these arrays."""
        if self.size == 1:
            return
        sums = [_fingerprint(array) for array in arrays]
        all_sums = self._all_gather(torch.stack(sums))
        if not bool((all_sums == all_sums[0]).all()):
            raise LostRankError(
                f"The {self.size} ranks found different parameters after the same window; expected "
                "the same bits on all. Use machines with the same processor and the same versions, "
                "then go on from the last checkpoint."
            )

    # the two collectives

    def _width(self, P: int) -> int:
        start, stop = self.bounds(P)
        return stop - start

    def _all_gather(self, mine: Tensor) -> Tensor:
        """Return the tensors of all ranks, `[R, *mine.shape]`."""
        import torch.distributed as dist

        result = mine.new_empty(self.size, *mine.shape)
        with self.together():
            dist.all_gather(list(result.unbind()), mine)
        self.sent += (self.size - 1) * mine.numel() * mine.element_size()
        self.exchanges += 1
        return result

    def _all_to_all(self, mine: Tensor, lengths: list[int]) -> list[Tensor]:
        """Send each rank its coordinates of `[..., P]`; return what came from each, flat."""
        import torch.distributed as dist

        P = mine.shape[-1]
        slices = [self.bounds(P, rank) for rank in range(self.size)]
        pieces = [mine[..., start:stop].reshape(-1) for start, stop in slices]
        splits = [len(piece) for piece in pieces]
        result = mine.new_empty(sum(lengths))
        with self.together():
            dist.all_to_all_single(result, torch.cat(pieces), lengths, splits)
        self.sent += (sum(splits) - splits[self.rank]) * mine.element_size()
        self.exchanges += 1
        return list(torch.split_with_sizes(result, lengths))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Turn torch's errors about lost ranks into a LostRankError for the user."""
        try:
            yield
        except RuntimeError as error:  # gloo and nccl say so when a connection ends or times out
            first_line = str(error).strip().split("\n")[0]
            reason = re.sub(r"\[[^\]]*\.cc:\d+\] ", "", first_line).split(". ")[0]
            raise LostRankError(
                f"Rank {self.rank} of {self.size} lost the others ({reason}); expected all "
                f"{self.size} ranks to go on together. Look at the message of the rank that ended "
                "first"
            ) from error


ALONE = Ranks()


def _fingerprint(array: Tensor) -> Tensor:
    """Return a number that any changed bit would change, whatever the order of the sum."""
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[array.element_size()]
    return array.detach().contiguous().view(words).sum(dtype=torch.int64)

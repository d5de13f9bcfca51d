"""Locks for what several threads read at a time; a process forked meanwhile gets new ones."""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Generic, Protocol, TypeVar, overload

T = TypeVar("T")


class Shares(Protocol):
    """Something that a lock protects."""

    def forget_shared(self) -> None:
        """Drop whatever is only changed under the lock: it will be made again."""


class ReadersLock:
    """A lock of what readers share. The thread that has it may take it again.

    If another thread has it while the process is forked, that thread does not exist in the child:
    nobody would ever release the lock, and what it protects may be half changed. So the child gets
    a new lock, and those that share it forget what it protects.
    """

    def __init__(self, *shared_by: Shares) -> None:
        self._lock = threading.RLock()
        self._shared_by: weakref.WeakSet[Shares] = weakref.WeakSet(shared_by)
        _locks.add(self)

    def share(self, by: Shares) -> None:
        """Note something else that the lock protects."""
        self._shared_by.add(by)

    @property
    def is_mine(self) -> bool:
        """Whether this thread has it."""
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]  # as `Condition` asks

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def _renew(self) -> None:
        if self._lock.acquire(blocking=False):  # it was free, or the forking thread's own
            self._lock.release()
            return
        self._lock = threading.RLock()
        for each in tuple(self._shared_by):
            each.forget_shared()


_locks: "weakref.WeakSet[ReadersLock]" = weakref.WeakSet()


def _renew_all() -> None:
    for lock in tuple(_locks):
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


class made_once(Generic[T]):
    """Decorate a property that is made when first asked for, and then kept.

    It is made under the owner's `lock`, if there is one. Unlike `functools.cached_property`, which
    up to Python 3.11 has one lock for all owners, it never keeps a forked process waiting.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> "made_once[T]": ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        with getattr(owner, "lock", nullcontext()):
            kept = owner.__dict__
            if self._name not in kept:
                kept[self._name] = self._make(owner)
            return kept[self._name]

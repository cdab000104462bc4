"""scikit-learn's callbacks (1.9 and later), isolated here: they are experimental and may change without notice.

With an older scikit-learn the estimators have no ``set_callbacks``; everything else works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    SUPPORTED = True
except ImportError:  # scikit-learn before 1.9
    SUPPORTED = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        return method


class Rounds:
    """The task tree "fit, round by round" of one fit."""

    def __init__(self, estimator: Any, n_rounds: int, X: Any, y: Any, metadata: dict[str, Any]):
        self.estimator = estimator
        self.data = {"X": X, "y": y, "metadata": metadata}
        self.active = SUPPORTED and bool(getattr(estimator, "_skl_callbacks", None))
        if self.active:
            self.context = estimator._init_callback_context(max_subtasks=n_rounds)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def end_round(self, reconstruct: Callable[[], dict[str, Any]]) -> bool:
        """Report a finished round; True when a callback asks to stop. ``reconstruct`` gives the attributes of a usable model."""
        if not self.active:
            return False
        context = self.context.subcontext(task_name="round")
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=reconstruct, **self.data))

    def end(self, reconstruct: Callable[[], dict[str, Any]]) -> None:
        if self.active:
            self.context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=reconstruct, **self.data)


__all__ = ["SUPPORTED", "CallbackSupportMixin", "Rounds", "with_callbacks"]

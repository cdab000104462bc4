"""The scikit-learn face shared by all boosted classifiers."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from manyboost.boosting_parameters import BoostingParameters, full_docstring
from manyboost.calibration import PilotPlan, Pilots, columns_of, run_pilots
from manyboost.callbacks import SUPPORTED, CallbackSupportMixin, Rounds, with_callbacks
from manyboost.columns import Columns, GivenTable, TakesTables, feature_names, given_table, read_columns
from manyboost.committee import Committee
from manyboost.contributions import DecidedRow, TreeExplanation, one_row
from manyboost.labels import encode_labels, read_costs, read_labels, read_weights
from manyboost.learners.similarity_explanation import Explanation
from manyboost.learners.similarity_space import Space
from manyboost.loop import ASKED_TO_STOP, Boosted, Work, all_rounds_made, best_round, boost
from manyboost.maths.links import best_temperature
from manyboost.parameters import check_parameters
from manyboost.preparation import BinnedTable, Preparation
from manyboost.progress import progress_of
from manyboost.protocol import Floats, Task, rows_of_weight
from manyboost.questions import Questions
from manyboost.threads import Threads, segments_of
from manyboost.trees.binning import Binning
from manyboost.validation import hold_out
from manyboost.weak_learning import Ensemble, Rows, Settings, Validation


def _equal(one: Floats | None, other: Floats | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


@contextmanager
def _said_of(name: str) -> Iterator[None]:
    """What is complained of here is complained of a parameter."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingClassifier(BoostingParameters, Questions, TakesTables, ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the boosted classifiers; a subclass answers the four questions."""

    _seed = 0  # for questions that are asked before a fit draws one

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        always = isinstance(inspect.getattr_static(cls, "trains_with_costs"), bool)
        cls.__doc__ = full_docstring(cls.__doc__ or "", "either" if hasattr(cls, "costs") else "train" if always else "decide")

    # ---- fit -----------------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None, sample_weight_val: Any = None
    ) -> BoostingClassifier:
        """Boost on the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, p)
            Missing values (NaN, None) are allowed; infinite ones are not.
        y : array of shape (n,)
            Class labels: numbers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Non-negative weights; rows of weight zero are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to watch for early stopping, instead of a held-out fraction.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, validation_set: tuple[Any, Any, Any] = (None, None, None),
        keys: NDArray[np.uint64] | None = None, plan: PilotPlan = PilotPlan(),  # noqa: B008 (it is frozen)
    ) -> Pilots | None:  # fmt: skip
        """Fit, and the pilots that gave the temperature. Models whose pilots are to hold out the same rows are given ``keys`` of these.

        Where pilots come first, no more rounds are made than they find to be of use.
        """
        self._check_choices(self.revises)
        going_on = self.warm_start and hasattr(self, "forest_")
        if not going_on:
            self.__dict__.pop("forest_", None)  # a fit that fails leaves no model, rather than half of an old one
        with Threads.of(self._n_threads()) as threads, threads.sharing():
            task, rows, keys = self._prepared(X, y, sample_weight, keys, going_on, threads)
            rounds = Rounds(self, self.rounds_wanted, X, y, {"sample_weight": sample_weight})
            return self._boost(task, rows, keys, validation_set, threads, going_on, rounds, plan)

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, keys: NDArray[np.uint64] | None, going_on: bool, threads: Threads
    ) -> tuple[Task, Rows, NDArray[np.uint64] | None]:
        """The rows as they are learnt from, and the given keys. What is made on the way, such as a frame's numbers, is not kept."""
        table: BinnedTable | GivenTable
        if isinstance(X, BinnedTable):
            X.seen_by(self)
            table = X
        else:
            table = self._given(X, self._columns if going_on else None)
        labels = read_labels(table, y, sample_weight, self.class_weight)
        numeric, columns = table.read(labels.weight)
        del table  # it may hold all rows
        if going_on:
            self._check_same_task(labels.classes)
        else:
            self._learnt_with = self._used_once()
            self.classes_ = labels.classes
            self.cost_matrix_: Floats | None = read_costs(self.cost_matrix, labels.classes)
            self._columns: Columns = columns
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        number, weight, used = labels.y, labels.weight, None
        del labels  # what is let go as soon as it can be leaves its place to weights and scores
        if (number < 0).any():
            used = np.flatnonzero(number >= 0)
            numeric, number, weight = numeric[used], number[used], weight[used]
            keys = None if keys is None else keys[used]
        if not going_on:
            learnt = Preparation.learnt(self.estimator, numeric, number, weight, self._columns.n_categories, self.max_bins, threads)
            self._binning: Binning | None = learnt.binning
            self._space: Space | None = learnt.space
        rows, codes, weight, order = self._preparation.rows(numeric, number, weight, used, self._settings(self._seed), threads)
        keys = None if keys is None else keys[order]
        del number, used, order
        task = Task.of(codes, len(self.classes_), weight, self.cost_matrix_ if self.trains_with_costs else None)
        if not going_on:
            self.class_prior_ = np.bincount(task.codes, task.weight, task.K)
        return task, rows, keys

    def share_bins(self, X: Any, sample_weight: Any = None) -> BinnedTable | None:
        """The table read and binned once, for clones that are fitted to some of its rows each, as ``fit(table[rows], ...)``.

        None where a clone would not have these bins: with another weak learner, with class weights, which change quantiles, and where a
        fit may go on from an earlier one.
        """
        check_parameters(self)
        if self.estimator is not None or self.class_weight is not None or self.warm_start:
            return None
        reader = clone(self)
        table = reader._given(X, None)
        weight = read_weights(table, sample_weight)
        numeric, columns = table.read(weight)
        return self._binned(numeric, columns, getattr(reader, "feature_names_in_", None), weight)

    def _binned(self, numeric: Any, columns: Columns, names: NDArray[Any] | None, weight: Floats) -> BinnedTable:
        """The same of a table that has been read."""
        with Threads.of(self._n_threads()) as threads:
            return BinnedTable.of(numeric, columns, names, weight, self.max_bins, self._settings(0), threads)

    def _check_same_task(self, classes: NDArray[Any]) -> None:
        if self.rounds_wanted < self.n_estimators_:
            raise ValueError(
                f"warm_start: n_estimators={self.rounds_wanted} must be at least the {self.n_estimators_} rounds already made; "
                "use warm_start=False to start anew."
            )
        if not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start: y has other classes than in the earlier fit; use warm_start=False to start anew.")
        for name, value in self._used_once().items():
            if value != self._learnt_with[name]:
                self._refuse_to_go_on(name)
        if not _equal(read_costs(self.cost_matrix, classes), self.cost_matrix_):
            self._refuse_to_go_on("cost_matrix")

    def _used_once(self) -> dict[str, str]:
        """The parameters that are used when a fit begins, and not when it goes on, in words."""
        return {name: repr(getattr(self, name)) for name in ("estimator", "max_bins", "categorical_features")}

    def _refuse_to_go_on(self, name: str) -> NoReturn:
        raise ValueError(f"warm_start: {name} is not what it was in the earlier fit; set it back, or use warm_start=False to start anew.")

    def _boost(
        self, task: Task, rows: Rows, keys: NDArray[np.uint64] | None, validation_set: tuple[Any, Any, Any], threads: Threads,
        going_on: bool, rounds: Rounds, plan: PilotPlan,
    ) -> Pilots | None:  # fmt: skip
        """Boost, and find the temperature."""
        settings, K = self._settings(self._seed), task.K
        of_learner = self._preparation.decoder(K)
        decoder = self.decoder(K) if of_learner is None else of_learner
        work = Work(decoder, K if decoder is None else len(decoder), settings, threads)
        validation, task, rows = self._validation(validation_set, task, rows, settings, threads)
        keys = keys if validation is None else None  # rows are left that no pilot needs
        if going_on and not _equal(decoder, self._decoder):
            self._refuse_to_go_on("a parameter that says what the columns of scores mean, such as separators or a code,")
        earlier = self._earlier() if going_on and not self.revises else None
        pilots = run_pilots(self, self._linked, task, rows, work, keys, plan) if plan.first else None
        if pilots is not None and pilots.best_length is not None:
            settings = replace(settings, n_estimators=pilots.best_length)
        if earlier is None or not self._ended_by_itself():
            n_made = earlier.n_rounds if earlier else 0
            with progress_of(self, settings.n_estimators, n_made) as show, threads.sharing(segments_of(task.codes)):

                def after_round(round_: int, row: Callable[[], dict[str, float]], so_far: Boosted) -> bool:
                    show(round_, row)
                    stop = False
                    if self.callbacks:
                        record = {"round": round_ + 1, **row()}
                        stop = any([bool(callback(record)) for callback in self.callbacks])  # noqa: C419 (each is called)
                    return rounds.end_round(lambda: self._fitted_attributes(so_far.ensemble, decoder, 1.0)) or stop

                boosted = boost(
                    self, task, rows, replace(work, settings=settings), validation=validation, earlier=earlier, after_round=after_round
                )
            self._take_over(boosted, decoder, validation, settings)
        if self.calibrate == "auto":
            pilots = self._calibrate(task, rows, work, validation, keys, plan, pilots)
        rounds.end(lambda: self._fitted_attributes(self.forest_, decoder, self.temperature_))
        return pilots

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.estimator, self._columns.n_categories, self._binning, self._space)

    def _validation(
        self, given: tuple[Any, Any, Any], task: Task, rows: Rows, settings: Settings, threads: Threads
    ) -> tuple[Validation | None, Task, Rows]:
        """The rows to watch, and what is left to train on."""
        X_val, y_val, weight_val = given
        if (X_val is None) != (y_val is None) or (X_val is None and weight_val is not None):
            raise ValueError("X_val and y_val must be given together, and sample_weight_val only with them.")
        if not self.early_stopping:
            if X_val is not None:
                raise ValueError("X_val is only used with early_stopping=True; set that, or leave the validation set out.")
            return None, task, rows
        if X_val is None:
            return hold_out(task, rows, self.validation_fraction)
        with _said_of("X_val"):
            table = self._given(X_val, self._columns)
        labels = encode_labels(y_val, self.classes_, table.shape[0], "y_val")
        weight = read_weights(table, weight_val, "sample_weight_val")
        with _said_of("X_val"):
            numeric, _ = table.read(weight)
        ready = self._preparation.rows(numeric, labels, weight, None, settings, threads)
        return Validation(*ready[:3]), task, rows

    def _earlier(self) -> Boosted:
        history = {name: list(values) for name, values in self.history_.items()}
        return Boosted(self.forest_, history, self.stop_reason_)

    def _ended_by_itself(self) -> bool:
        """Did the earlier fit end for a reason that would have ended a longer one, too?"""
        return self.stop_reason_ not in (ASKED_TO_STOP, all_rounds_made(len(self.history_["loss"])))

    def _fitted_attributes(self, ensemble: Ensemble, decoder: Floats | None, temperature: float) -> dict[str, Any]:
        return {"forest_": ensemble, "n_estimators_": ensemble.n_rounds, "_decoder": decoder, "temperature_": temperature}

    def _take_over(self, boosted: Boosted, decoder: Floats | None, validation: Validation | None, settings: Settings) -> None:
        self.forest_: Ensemble  # with the others of a usable model below
        ensemble, n_rounds = boosted.ensemble, boosted.n_rounds
        if validation is not None and n_rounds:
            n_rounds = best_round(boosted.history["validation_error"], settings.tol) + 1
            ensemble = ensemble.first_rounds(n_rounds)
        for name, value in self._fitted_attributes(ensemble, decoder, 1.0).items():
            setattr(self, name, value)
        self.history_ = {name: np.array(values) for name, values in boosted.history.items()}
        self.stop_reason_ = boosted.stop_reason
        if boosted.shortfall:
            n_unsolved = int(self.history_["unsolved"].sum())
            of = f"{n_unsolved} of {len(self.history_['unsolved'])} rounds are not solved as promised; the last of them, "
            warnings.warn(f"{type(self).__name__}: {of}{boosted.shortfall}", ConvergenceWarning, stacklevel=5 + SUPPORTED)
        self.n_clipped_steps_ = int(self.history_["n_clipped"][:n_rounds].sum())

    def _calibrate(
        self, task: Task, rows: Rows, work: Work, validation: Validation | None, keys: NDArray[np.uint64] | None, plan: PilotPlan,
        pilots: Pilots | None,
    ) -> Pilots | None:  # fmt: skip
        """Set the temperature: from the validation rows where there are some, else from pilot fits, which are returned."""
        self.temperature_ = 1.0
        if not self.n_estimators_:
            return None
        if validation is not None and (validation.weight > 0).any():
            columns = columns_of(self.forest_, validation.rows, len(validation.y))
            y, weight = validation.y, validation.weight
            self.temperature_ = best_temperature(lambda factor: self._linked(columns * factor), y, weight, rows_of_weight(weight))
            return None
        if self.stop_reason_ == ASKED_TO_STOP:  # no use in pilots that are longer than the model
            work = replace(work, settings=replace(work.settings, n_estimators=self.n_estimators_))
        if pilots is None:
            pilots = run_pilots(self, self._linked, task, rows, work, keys, plan)
        if pilots is not None:
            self.temperature_ = pilots.temperature_after(self.n_estimators_, work.settings.n_estimators)
        return pilots

    # ---- predict -------------------------------------------------------------------------------------------------------------

    def _given(self, X: Any, known: Columns | None) -> GivenTable:
        return given_table(self, X, known, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)

    def _read(self, X: Any) -> Any:
        return read_columns(self, X, self._columns, categorical_features=self.categorical_features, handle_unknown=self.handle_unknown)[0]

    def _columns_of(self, X: Any) -> Floats:
        check_is_fitted(self)
        numeric = self._read(X)
        with Threads.of(self._n_threads()) as threads:
            return self.forest_.columns(numeric, threads.map)

    def _decision(self, scores: Floats) -> Floats:
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, columns: Floats) -> Floats:
        """The scores that decide; without members, those of the classes' shares."""
        if self.cost_matrix_ is not None and not (self.trains_with_costs and self.n_estimators_):
            return -self._probability(columns) @ self.cost_matrix_  # minus the expected cost of each decision
        if self.n_estimators_:
            return self.scores(columns)
        return np.tile(np.log(np.maximum(self.class_prior_, np.finfo(float).tiny)), (len(columns), 1))

    def _linked(self, columns: Floats) -> Floats:
        """``link`` of the columns, of the classes alone where the weak learner tells more apart."""
        of_learner = self._preparation.decoder(len(self.classes_))
        return self.link(columns if of_learner is None else columns @ of_learner)

    def _probability(self, columns: Floats) -> Floats:
        if self.n_estimators_:
            return self._linked(columns * self.temperature_)
        return np.tile(self.class_prior_, (len(columns), 1))

    def decision_function(self, X: Any) -> Floats:
        """Scores F, (n, K); for two classes their difference, (n,), positive for ``classes_[1]``.

        With a ``cost_matrix`` that was not trained with, minus the expected cost of deciding for each class.
        """
        return self._decision(self._scores(self._columns_of(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, (n, K)."""
        return self._probability(self._columns_of(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, the first of equals: (n,). It is the most probable one, or by a ``cost_matrix`` the cheapest."""
        return self._labels(self._columns_of(X))

    def _labels(self, columns: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[self._scores(columns).argmax(axis=1)])

    def contributions(self, X: Any) -> tuple[Floats, Floats]:
        """What each feature adds to each score of each row, (n, p, K), and where the scores start, (K,); of models of our own trees.

        ``start + contributions.sum(axis=1)`` are the scores. On its way through a tree a row passes nodes of ever fewer training rows; the
        feature of each split is given the change of the mean score there.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import SAMMEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SAMMEClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> added, start = model.contributions(X)
        >>> added.shape, bool(abs(start + added.sum(axis=1) - model.decision_function(X)).max() < 1e-9)
        ((150, 4, 3), True)
        """
        check_is_fitted(self)
        with Threads.of(self._n_threads()) as threads:
            added, start = self.forest_.contributions(self._read(X), threads.map)
        return (added, start) if self._decoder is None else (added @ self._decoder, start @ self._decoder)

    def explain(self, X: Any) -> TreeExplanation | Explanation:
        """Why the model decides as it does for one row.

        Parameters
        ----------
        X : one row: a table of one row, or its values

        Returns
        -------
        TreeExplanation or Explanation
            What each feature adds to the scores, of our own trees; of localized similarities, the training examples that the row was
            compared with and what each comparison adds. ``print`` it, or ask its ``why``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import AdaBoostMHClassifier, RebelClassifier
        >>> from manyboost.learners import LocalizedSimilarity
        >>> X, y = load_iris(return_X_y=True)
        >>> print(AdaBoostMHClassifier(random_state=0).fit(X, y).explain(X[100]))
        Predicted: 2 (probability ...).
        2 and not 1: the scores of the trees differ by ...
        >>> print(RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X, y).explain(X[100]))
        Predicted: 2 (probability ...).
        2 and not 1: the scores differ by ...
        """
        check_is_fitted(self)
        numeric = self._read(one_row(X))
        columns = self.forest_.columns(numeric)
        decided = DecidedRow(
            numeric=numeric,
            columns=self._columns,
            features=feature_names(self),
            classes=self.classes_,
            decoder=self._decoder_matrix,
            scores=self._scores(columns)[0],
            probability=self._probability(columns)[0],
        )
        explanation: TreeExplanation | Explanation = self.forest_.explained(decided)
        return explanation

    @property
    def _decoder_matrix(self) -> Floats:
        """(C, K): what each column means for the scores, also where it is one of them."""
        return np.eye(len(self.classes_)) if self._decoder is None else self._decoder

    def _staged(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        return self.forest_.staged_columns(self._read(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """:meth:`decision_function` after each round; where rounds revise earlier members, by what these add in the end."""
        for columns in self._staged(X):
            yield self._decision(self._scores(columns)).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """:meth:`predict_proba` after each round, at the temperature of the whole model."""
        for columns in self._staged(X):
            yield self._probability(columns)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """:meth:`predict` after each round."""
        for columns in self._staged(X):
            yield self._labels(columns)

    @property
    def description_(self) -> str:
        """What was done, in a few words."""
        check_is_fitted(self)
        return f"{self.n_estimators_} rounds, {self.stop_reason_}"

    @property
    def estimators_(self) -> list[Any]:
        check_is_fitted(self)
        if not isinstance(self.forest_, Committee):
            raise AttributeError("estimators_ is there with a scikit-learn classifier as estimator; other members are in forest_.")
        return [member.fitted for member in self.forest_.members]

    @property
    def class_importances_(self) -> Floats:
        check_is_fitted(self)
        return self.forest_.importances(self.n_features_in_, self._decoder_matrix)

    @property
    def feature_importances_(self) -> Floats:
        total = self.class_importances_.sum(axis=1)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

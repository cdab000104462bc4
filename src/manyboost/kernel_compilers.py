"""How numba is led to compile kernels in little more than half of the time.

Parts of kernels are compiled to LLVM's own language and no further. Numba makes machine code of every function that it compiles. A part is
called by the kernels that contain it and by nobody else: machine code of its own would never be run, and making it took a quarter of the
time of a first fit. So a part is linked into what calls it, and is optimised and translated there.

Numba counts the references to every array that a variable comes to hold. Most parts are given all their arrays, by callers that hold them
until the part is done, and return none: they are compiled without counting, which leaves a tenth less to compile and to run.

Whenever a number is added or an array is indexed, numba asks everything that adds or indexes, strings, sets and dates among them, whether
it is meant. Here what was found for the same types is remembered, which saves a fifth of the time. And Python looks for garbage less often
meanwhile: it did so for a tenth of the time, and found next to none.
"""

from __future__ import annotations

import gc
from typing import Any

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

NOT_NEEDED = (InlineClosureLikes, NopythonRewrites)  # parts have neither functions of their own nor sums of whole arrays to fuse
OBJECTS_BEFORE_COLLECTION = 10_000  # new ones; beyond that, memory grows and hardly a second is saved


class _PartLibrary(JITCodeLibrary):
    """The code of a part and of the parts that it calls itself, which can be linked but not run."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """As numba does it, but for functions of which there is no more than the name."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


def _has_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_has_arrays, kind)))


def _makes_arrays(state: Any) -> bool:
    """Does a part make an array, have one made, or return one? All others it is given, by who holds them until it is done."""
    calls = (call for block in state.func_ir.blocks.values() for call in block.find_exprs(op="call"))
    return _has_arrays(state.return_type) or any(_has_arrays(state.calltypes[call].return_type) for call in calls)


@register_pass(mutates_CFG=False, analysis_only=True)
class _Begin(FunctionPass):
    _name = "manyboost_begin_part"

    def __init__(self) -> None:  # abstract where it stands
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if not _makes_arrays(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _End(LoweringPass):
    _name = "manyboost_end_part"

    def __init__(self) -> None:  # abstract where it stands
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        lowered, nowhere = state.cr, 0
        described, name = lowered.fndesc, lowered.fndesc.qualname
        # by this function numba finds the part where others call it
        entry = _dynfunc.make_function(described.lookup_module(), name, "a part of kernels", nowhere, lowered.env, (state.library,))
        state.targetctx.insert_user_function(entry, described, [state.library])
        state.cr = _LowerResult(described, lowered.call_helper, cfunc=entry, env=lowered.env)
        return False


class _RememberedCalls:
    """While kernels are compiled, how numba calls its own functions is found once for all arguments of the same types.

    Numba compiles one thing at a time (it has a lock), and all of ours with the same options.
    """

    def __init__(self) -> None:
        self._found: dict[Any, tuple[types.BaseFunction, Any]] = {}
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._ask = types.BaseFunction.get_call_type
            types.BaseFunction.get_call_type = lambda function, *call: self._call_type(function, *call)
        self._depth += 1

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            types.BaseFunction.get_call_type = self._ask

    def _call_type(self, function: types.BaseFunction, context: Any, args: Any, kws: Any) -> Any:
        key = function, tuple(args), tuple(dict(kws).items())
        if key not in self._found:
            self._found[key] = function, self._ask(function, context, args, kws)
        asked, signature = self._found[key]
        function._impl_keys[signature.args] = asked._impl_keys[signature.args]  # by which its code is found
        return signature


_REMEMBERED_CALLS = _RememberedCalls()


class PartCompiler(CompilerBase):
    """Numba's compiler, but for what it does when the code is there."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [one for one in passes.passes if one[0] not in NOT_NEEDED]
        passes.add_pass_after(_Begin, NopythonTypeInference)
        passes.add_pass_after(_End, NativeLowering)
        passes.finalize()
        return [passes]


class KernelCompiler(Compiler):
    """Numba's compiler, with calls remembered and garbage collected less often; it compiles the parts of a kernel, too."""

    def compile_extra(self, func: Any) -> Any:
        before = gc.get_threshold()
        if before[0] > 0:  # else it never collects
            gc.set_threshold(max(before[0], OBJECTS_BEFORE_COLLECTION), *before[1:])
        try:
            with _REMEMBERED_CALLS:
                return super().compile_extra(func)
        finally:
            gc.set_threshold(*before)

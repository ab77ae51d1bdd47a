"""Graph: writes ONNX nodes as if they were arithmetic. Values are names; everything but trees is float64."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET, ML_OPSET = 18, 3
# Wichura's rational functions for the normal quantile (algorithm AS 241): the middle, and the tails up to exp(-25).
_A = (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
      1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.387132872796366608)  # fmt: skip
_B = (5.226495278852854561e3, 2.8729085735721942674e4, 3.930789580009271061e4, 2.1213794301586595867e4,
      5.3941960214247511077e3, 6.871870074920579083e2, 4.2313330701600911252e1, 1.0)  # fmt: skip
_C = (7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.4178072517745061177e-1, 1.27045825245236838258,
      3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734)  # fmt: skip
_D = (1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.4810397642748007459e-1,
      6.8976733498510000455e-1, 1.6763848301838038494, 2.05319162663775882187, 1.0)  # fmt: skip


class Graph:
    """The nodes and constants of one graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def const(self, value: Any, dtype: Any = np.float64) -> str:
        from onnx import numpy_helper

        name = self.name()
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value, dtype=dtype).reshape(np.shape(value)), name)
        )
        return name

    def op(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """Add a node and return its result. A number or an array among the inputs becomes a constant."""
        from onnx import helper

        names = [one if isinstance(one, str) else self.const(one) for one in inputs]
        out = self.name()
        self.nodes.append(helper.make_node(kind, names, [out], domain=domain, **attributes))
        return out

    # ------------------------------------------------------------- arithmetic

    def cast(self, x: str, dtype: Any = np.float64) -> str:
        from onnx import helper

        return self.op("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def sum_of(self, terms: list[str]) -> str:
        return terms[0] if len(terms) == 1 else self.op("Sum", *terms)

    def clip(self, x: str, low: float, high: float) -> str:
        return self.op("Min", self.op("Max", x, low), high)

    def logit(self, p: str) -> str:
        return self.op("Log", self.op("Div", p, self.op("Sub", 1.0, p)))

    def column(self, x: str) -> str:
        """(n,) -> (n, 1)."""
        return self.op("Unsqueeze", x, self.const([-1], np.int64))

    def flat(self, x: str) -> str:
        """(n, 1) -> (n,)."""
        return self.op("Reshape", x, self.const([-1], np.int64))

    def interp(self, x: str, at: np.ndarray, values: np.ndarray, ties: bool = False) -> str:
        """numpy.interp along the last axis: x (..., 1) and knots at, values (..., k) give (...).

        The map is a sum of ramps, one for each step between knots. Equal knots are a jump, which counts from its knot
        on; with ties, the knot itself counts half.
        """
        at, values = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
        if at.shape[-1] == 1:
            zero = self.op("Mul", self.op("Squeeze", x, self.const([-1], np.int64)), 0.0)
            return self.op("Add", zero, values[..., 0])
        width, rise = np.diff(at), np.diff(values)
        slope = np.where(width > 0, rise / np.where(width > 0, width, 1), 0)
        ramp = self.op("Min", self.op("Max", self.op("Sub", x, at[..., :-1]), 0.0), width)
        total = self.op("ReduceSum", self.op("Mul", ramp, slope), self.const([-1], np.int64), keepdims=0)
        jump = np.where(width > 0, 0, rise)
        if jump.any():
            reached = self.cast(self.op("GreaterOrEqual", x, at[..., :-1]))
            if ties:
                passed = self.cast(self.op("Greater", x, at[..., :-1]))
                reached = self.op("Mul", self.op("Add", reached, passed), 0.5)
            steps = self.op("ReduceSum", self.op("Mul", reached, jump), self.const([-1], np.int64), keepdims=0)
            total = self.op("Add", total, steps)
        return self.op("Add", total, values[..., 0])

    def normal_quantile(self, p: str) -> str:
        """The inverse of the normal distribution, for p from 1e-11 to 1 - 1e-11."""
        q = self.op("Sub", p, 0.5)
        r = self.op("Sub", 0.180625, self.op("Mul", q, q))
        middle = self.op("Mul", q, self._ratio(r, _A, _B))
        tail = self.op("Max", self.op("Min", p, self.op("Sub", 1.0, p)), 1e-12)
        t = self.op("Sub", self.op("Sqrt", self.op("Neg", self.op("Log", tail))), 1.6)
        far = self.op("Mul", self.op("Sign", q), self._ratio(t, _C, _D))
        return self.op("Where", self.op("LessOrEqual", self.op("Abs", q), self.const(0.425)), middle, far)

    def _ratio(self, x: str, top: tuple[float, ...], bottom: tuple[float, ...]) -> str:
        return self.op("Div", self._polynomial(x, top), self._polynomial(x, bottom))

    def _polynomial(self, x: str, factors: tuple[float, ...]) -> str:
        total = self.op("Add", self.op("Mul", x, factors[0]), factors[1])
        for factor in factors[2:]:
            total = self.op("Add", self.op("Mul", total, x), factor)
        return total

#!/usr/bin/env python3
"""Writes the inputs and expected results of the mathlib kernels: for each kernel `<kernel>.x.bin`,
`<kernel>.y.bin` and `<kernel>.expected.bin`, little-endian, results correctly rounded from 400 bits.

Usage: make_tables.py   (in this folder; needs mpmath)
"""
import math
import random
import struct
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

mp.prec = 400
N = 256
NAN = float("nan")


def rounded(value, double):
    """`value` to nearest in single or double precision; complex or NaN means a domain error."""
    if isinstance(value, mpmath.mpc) or value is None:
        return NAN
    if isinstance(value, Fraction):
        value = mpf(value.numerator) / mpf(value.denominator) if value else mpf(0)
    value = mpf(value)
    if mpmath.isnan(value):
        return NAN
    if mpmath.isinf(value) or value == 0:
        return float(value)
    bits, lowest, top = (53, -1074, 1024) if double else (24, -149, 128)
    exponent = mpmath.frexp(value)[1]
    if exponent > top + 1:
        return math.copysign(math.inf, value)
    unit = max(exponent - bits, lowest)
    if exponent < lowest - 1:
        return math.copysign(0.0, value)
    # To nearest, ties to even, in units of the last place.
    steps = int(mpmath.nint(mpmath.ldexp(value, -unit)))
    if abs(steps) << max(unit + 2000, 0) >= 1 << (top + 2000):
        return math.copysign(math.inf, value)
    return math.copysign(math.ldexp(abs(steps), unit), value)


def guarded(function):
    """Domain errors become NaN."""

    def call(x, y):
        try:
            return function(x, y)
        except (ValueError, ZeroDivisionError):
            return None

    return call


def remainder(x, y):
    return Fraction(x) - round(Fraction(x) / Fraction(y)) * Fraction(y)


def fmod(x, y):
    quotient = abs(Fraction(x)) // abs(Fraction(y))
    return (abs(Fraction(x)) - quotient * abs(Fraction(y))) * int(math.copysign(1, x))


def half_away(x):
    return int(math.copysign(1, x)) * ((abs(Fraction(x)) + Fraction(1, 2)) // 1)


def positive(function):
    return lambda x, y: function(mpf(x)) if x > 0 else None


def plain(function):
    return lambda x, y: function(mpf(x))


def within(function, least, most):
    return lambda x, y: function(mpf(x)) if least <= x <= most else None


def root3(x):
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def lgamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


EXACT = {
    "x / y": lambda x, y: Fraction(x) / Fraction(y),
    "1 / x": lambda x, y: 1 / Fraction(x),
    "sqrt": lambda x, y: mpmath.sqrt(abs(mpf(x))),
    "fma": lambda x, y: Fraction(x) * Fraction(y) - 1,
    "fmod": fmod,
    "remainder": remainder,
    "rint": lambda x, y: Fraction(round(Fraction(x))),
    "round": lambda x, y: Fraction(half_away(x)),
}
FUNCTIONS = {
    "cbrt": plain(root3),
    "rcbrt": plain(lambda x: 1 / root3(x)),
    "log": positive(mpmath.log),
    "log2": positive(lambda x: mpmath.log(x, 2)),
    "log10": positive(mpmath.log10),
    "log1p": lambda x, y: (
        mpmath.log1p(mpf(x)) if x > -1 else (-mpmath.inf if x == -1 else None)
    ),
    "expm1": plain(mpmath.expm1),
    "sinpi": plain(mpmath.sinpi),
    "cospi": plain(mpmath.cospi),
    "sin": plain(mpmath.sin),
    "cos": plain(mpmath.cos),
    "tan": plain(mpmath.tan),
    "exp": plain(mpmath.exp),
    "exp2": plain(lambda x: mpf(2) ** x),
    "exp10": plain(lambda x: mpf(10) ** x),
    "rsqrt": positive(lambda x: 1 / mpmath.sqrt(x)),
    "tanh": plain(mpmath.tanh),
    "erf": plain(mpmath.erf),
    "asin": within(mpmath.asin, -1, 1),
    "acos": within(mpmath.acos, -1, 1),
    "atan": plain(mpmath.atan),
    "cosh": plain(mpmath.cosh),
    "sinh": plain(mpmath.sinh),
    "asinh": plain(mpmath.asinh),
    "acosh": lambda x, y: mpmath.acosh(mpf(x)) if x >= 1 else None,
    "atanh": within(mpmath.atanh, -1, 1),
    "pow": lambda x, y: mpf(abs(x)) ** mpf(y),
    "hypot": lambda x, y: mpmath.hypot(mpf(x), mpf(y)),
    "atan2": lambda x, y: mpmath.atan2(mpf(x), mpf(y)),
    "erfc": plain(mpmath.erfc),
    "erfinv": within(mpmath.erfinv, -1, 1),
    "lgamma": plain(lgamma),
    "tgamma": plain(mpmath.gamma),
    "normcdf": plain(mpmath.ncdf),
}
FUNCTIONS.update(EXACT)

# The rows of each kernel in its order.
KERNELS = {
    "single_exact": "x / y,1 / x,sqrt,fma,fmod,remainder,rint,round",
    "single_1_ulp": "cbrt,rcbrt,log,log2,log1p,expm1,sinpi,cospi",
    "single_2_ulps": "sin,cos,exp,exp2,exp10,log10,rsqrt,tanh,erf,asin,acos,atan,cosh",
    "single_4_ulps": "tan,pow,hypot,atan2,sinh,asinh,acosh,atanh,erfc,erfinv",
    "single_6_ulps": "lgamma,tgamma,normcdf",
    "double_exact": "x / y,1 / x,sqrt,fma,rint,round",
    "double_1_ulp": "exp,exp2,exp10,expm1,log,log2,log10,log1p,rsqrt,cbrt,cosh,tanh",
    "double_2_ulps": "sin,cos,tan,sinpi,pow,hypot,asin,acos,atan,atan2,sinh,atanh,erf",
    "double_5_ulps": "asinh,acosh,erfc,lgamma,erfinv",
    "double_10_ulps": "tgamma,normcdf",
}


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def arguments(kernel, double):
    """Numbers at which functions change, small ones, numbers of all magnitudes."""
    source = random.Random(kernel)
    edges = [1.0, -1.0, 0.5, -0.5, 2.0, 1.5, 3.0, 10.0, 100.0, -100.0, 0.25, 0.75, 80.0, -80.0]
    edges += [math.pi, -math.pi, math.pi / 2, 1 - 2.0**-24, 1 + 2.0**-23, 2.0**-130, -(2.0**-140)]
    # The guide's bound of lgamma holds outside an interval of negative arguments.
    if "lgamma" in KERNELS[kernel] or "tgamma" in KERNELS[kernel]:
        x = [v for v in edges if -2 < v < 35 and v != -1.0]
        while len(x) < N:
            v = source.uniform(-2.2, 34.0) if source.random() < 0.8 else source.uniform(-40, -24)
            x.append(v)
    else:
        x = list(edges)
        large = 100 if double else 24
        while len(x) < N:
            kind = source.randrange(4)
            if kind == 0:
                v = source.uniform(-1, 1)
            elif kind == 1:
                v = source.uniform(-10, 10)
            elif kind == 2:
                v = source.uniform(0, 100)
            else:
                v = source.choice([1, -1]) * 2.0 ** source.uniform(-large, large)
            x.append(v)
    y = [source.uniform(-8, 8) for _ in range(N)]
    if "exact" in kernel:
        for k in range(40, N):
            if k % 2:
                y[k] = source.choice([1, -1]) * 2.0 ** source.uniform(-100, 100)
                x[k] = source.choice([1, -1]) * 2.0 ** source.uniform(-100, 27)
    if not double:
        x, y = [single(v) for v in x], [single(v) for v in y]
    return x, y


def main():
    for kernel, names in KERNELS.items():
        double = kernel.startswith("double")
        x, y = arguments(kernel, double)
        # A remainder by something tiny has a quotient of hundreds of bits: exact all the same.
        rows = []
        for name in names.split(","):
            for i in range(N):
                value = rounded(guarded(FUNCTIONS[name])(x[i], y[i]), double)
                # Zeros of these have the sign of the argument.
                if value == 0 and name in ("fmod", "remainder", "rint", "round"):
                    value = math.copysign(0.0, x[i])
                rows.append(value)
        code = "<%d" + ("d" if double else "f")
        for part, values in (("x", x), ("y", y), ("expected", rows)):
            with open(f"{kernel}.{part}.bin", "wb") as file:
                file.write(struct.pack(code % len(values), *values))
        ulps = kernel.split("_")[1]
        tolerance = 0 if ulps == "exact" else int(ulps)
        element = "f64" if double else "f32"
        stem = "double" if double else "single"
        with open(f"{kernel}.toml", "w", encoding="utf-8") as file:
            file.write(
                f"""# Written by make_tables.py.
cubin = "{stem}.{{arch}}.cubin"
gpu = "rtx-a6000"
title = "CUDA's math library, {stem} precision, {kernel.split('_', 1)[1].replace('_', ' ')}"

[[launch]]
kernel = "{kernel}"
grid = [2]
block = [128]
args = ["x", "y", "out", {{ i32 = {N} }}]

[buffers.x]
type = "{element}"
count = {N}
init = {{ file = "{kernel}.x.bin" }}

[buffers.y]
type = "{element}"
count = {N}
init = {{ file = "{kernel}.y.bin" }}

[buffers.expected]
type = "{element}"
count = {len(rows)}
init = {{ file = "{kernel}.expected.bin" }}

[buffers.out]
type = "{element}"
count = {len(rows)}
init = {{ fill = -1.0 }}

# Rows: {names.replace(',', ', ')}.
[[check]]
reference = "expected"
tolerance = {{ ulps = {tolerance} }}
"""
            )


main()

#!/usr/bin/env python3
"""Writes the inputs and expected results of the mathlib kernels: for each kernel of single.cu and
double.cu `<kernel>.x.bin`, `<kernel>.y.bin` and `<kernel>.expected.bin`, little-endian, results
correctly rounded from at least 400 bits, and its launch file. The rows of a kernel are those of its
source.

Where the reference is weak: 256 arguments a function are a sample, no proof of a maximum; the
functions that mpmath lacks (the inverses of erfc and normcdf, erfcx) are made from those it has,
and the inverses checked by what they invert.

Usage: make_tables.py   (in this folder; needs mpmath)
"""
import glob
import math
import os
import random
import re
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
    if x > 0:
        return mpmath.loggamma(x)
    return mpmath.log(abs(mpmath.gamma(x)))


def erfc(x):
    # Beyond the range of double precision.
    if abs(x) > 100:
        return mpf(0 if x > 0 else 2)
    return mpmath.erfc(x)


def erfcx(x):
    """exp(x^2) erfc(x); for large x the asymptotic series, whose least term is about exp(-x^2)."""
    if x < -100:
        return mpmath.inf
    if x < 100:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    total = term = mpf(1)
    for k in range(1, 200):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mpmath.sqrt(mpmath.pi))


def erfcinv(y):
    """By Newton's method from a bisected start; mpmath has the inverse of erf alone."""
    if y == 1:
        return mpf(0)
    if y > 1:
        return -erfcinv(2 - y)
    least, most = mpf(0), mpf(60)
    with mpmath.workprec(60):
        while most - least > least * mpf(2) ** -30:
            middle = (least + most) / 2
            if mpmath.erfc(middle) > y:
                least = middle
            else:
                most = middle
    x = least
    with mpmath.workprec(600):
        for _ in range(6):
            x += (mpmath.erfc(x) - y) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(x * x)
        assert abs(mpmath.erfc(x) / y - 1) < mpf(2) ** -400, y
    return x


def normcdfinv(p):
    with mpmath.workprec(600):
        return -mpmath.sqrt(2) * erfcinv(2 * mpf(p))


def bessel_i(order):
    # Beyond the range of double precision from here on.
    infinity = lambda x: mpmath.inf if order == 0 or x > 0 else -mpmath.inf
    return lambda x, y: mpmath.besseli(order, mpf(x)) if abs(x) < 800 else infinity(x)


def with_poles(function, poles):
    """A function on an interval at whose ends it is infinite."""

    def call(x, y):
        if x in poles:
            return poles[x]
        return function(mpf(x)) if min(poles) < x < max(poles) else None

    return call


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
    "erfc": plain(erfc),
    "erfinv": within(mpmath.erfinv, -1, 1),
    "lgamma": plain(lgamma),
    "tgamma": plain(mpmath.gamma),
    "normcdf": plain(lambda x: erfc(-x / mpmath.sqrt(2)) / 2),
    "erfcx": plain(erfcx),
    "erfcinv": with_poles(erfcinv, {0: mpmath.inf, 2: -mpmath.inf}),
    "normcdfinv": with_poles(normcdfinv, {0: -mpmath.inf, 1: mpmath.inf}),
    "rhypot": lambda x, y: 1 / mpmath.sqrt(mpf(x) ** 2 + mpf(y) ** 2),
    "cyl_bessel_i0": bessel_i(0),
    "cyl_bessel_i1": bessel_i(1),
    "j0": plain(lambda x: mpmath.besselj(0, x)),
    "j1": plain(lambda x: mpmath.besselj(1, x)),
    "y0": positive(lambda x: mpmath.bessely(0, x)),
    "y1": positive(lambda x: mpmath.bessely(1, x)),
}
FUNCTIONS.update(EXACT)



def kernels(stem):
    """The kernels of a source: name and functions, in the order of its rows."""
    with open(f"{stem}.cu", encoding="utf-8") as file:
        text = file.read()
    for name, body in re.findall(r"^KERNEL\((\w+)\) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        rows = [re.sub(r"f?\(.*", "", row) if stem == "single" else re.sub(r"\(.*", "", row)
                for row in re.findall(r"ROW\((.*)\);", body)]
        yield name, [re.sub(r"1\.0f?", "1", row) for row in rows]


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def gamma_arguments(source, names, double):
    """Where the guide's bounds hold: outside an interval of negative numbers for lgamma."""
    poles = [-10.001, -2.264] if not double else [-23.0001, -2.2637]
    most = 172 if double else 35
    while True:
        kind = source.randrange(4)
        if kind == 0:
            v = source.uniform(-2.2, 6)
        elif kind == 1:
            v = source.uniform(0, most)
        elif kind == 2:
            v = source.uniform(-40, 0)
        else:
            v = source.choice([1, -1]) * 2.0 ** source.uniform(-100, 20)
            v = abs(v) if abs(v) > 40 else v
        if "lgamma" in names and poles[0] <= v <= poles[1]:
            continue
        if "tgamma" in names and v > 500:
            continue
        yield v


def wide_arguments(source, names, double):
    """Small ones, around 1 and numbers of all magnitudes."""
    large = 1000 if double else 120
    while True:
        kind = source.randrange(5)
        if kind == 0:
            yield source.uniform(-1, 1)
        elif kind == 1:
            yield source.uniform(-10, 10)
        elif kind == 2:
            yield source.uniform(0, 100)
        elif kind == 3:
            yield source.choice([1, -1]) * 2.0 ** source.uniform(-24, 24)
        else:
            yield source.choice([1, -1]) * 2.0 ** source.uniform(-large, large)


def arguments(kernel, names, double):
    """First numbers at which functions change, then random ones."""
    source = random.Random(kernel)
    x = [1.0, -1.0, 0.5, -0.5, 2.0, 1.5, 3.0, 10.0, 100.0, -100.0, 0.25, 0.75, 80.0, -80.0]
    x += [math.pi, -math.pi, math.pi / 2, 1 - 2.0**-24, 1 + 2.0**-23, 2.0**-130, -(2.0**-140)]
    if "lgamma" in names or "tgamma" in names:
        x = [v for v in x if -2 < v < 35 and v != -1.0]
        more = gamma_arguments(source, names, double)
    elif "j0" in names:
        # The guide gives bounds in units in the last place below 8 alone.
        x = [v for v in x if abs(v) < 8]
        more = (source.uniform(-8, 8) if source.random() < 0.4 else
                2.0 ** source.uniform(-30, 3) for _ in iter(int, 1))
    else:
        more = wide_arguments(source, names, double)
    while len(x) < N:
        x.append(next(more))
    if "erfcinv" in names or "normcdfinv" in names:
        # Results of probabilities close to 0, too.
        for k in range(40, N, 2):
            x[k] = 2.0 ** source.uniform(-1000 if double else -120, 1)
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
    for old in glob.glob("*.bin") + glob.glob("*.toml"):
        os.remove(old)
    for kernel, names in list(kernels("single")) + list(kernels("double")):
        double = kernel.startswith("double")
        x, y = arguments(kernel, names, double)
        # A remainder by something tiny has a quotient of hundreds of bits: exact all the same.
        rows = []
        for name in names:
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

# Rows: {', '.join(names)}.
[[check]]
reference = "expected"
tolerance = {{ ulps = {tolerance} }}
"""
            )


main()

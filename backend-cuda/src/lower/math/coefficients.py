"""Prints `coefficients.rs`: `pip install mpmath`, then `python3 coefficients.py | rustfmt > coefficients.rs`.

Each is the function interpolated at Chebyshev nodes with 60 digits, weighted so that the relative error of the result
counts, and then rounded to the type. The error said is that of the rounded polynomial, relative to the function; that of
evaluating it comes on top.
"""
from mpmath import mp, mpf
import struct
mp.dps = 60

def rounded(x, f32):
    if f32:
        return mpf(struct.unpack('f', struct.pack('f', float(x)))[0])
    return mpf(float(x))

def fit(f, a, b, degree):
    """Coefficients, lowest first, of the polynomial through f at the Chebyshev nodes of [a, b]."""
    a, b = mpf(a), mpf(b)
    n = degree + 1
    nodes = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    rows = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            rows[i, j] = x ** j
    return list(mp.lu_solve(rows, mp.matrix([f(x) for x in nodes])))

def show(name, about, coefficients, f32, error, a, b):
    c = [rounded(x, f32) for x in coefficients]
    p = lambda x: sum(ck * x ** k for k, ck in enumerate(c))
    a, b = mpf(a), mpf(b)
    worst = max(abs(error(a + (b - a) * i / 997, p)) for i in range(998) if a + (b - a) * i / 997 != 0)
    unit = mpf(2) ** (-24 if f32 else -53)
    print(f"/// {about} Off by {mp.nstr(worst / unit, 3)} units of 2^{-24 if f32 else -53}.")
    print(f"pub(super) const {name}_{'F32' if f32 else 'F64'}: &[f64] = &[")
    for x in c:
        print(f"    {digits(float(x))},")
    print("];")

def digits(x):
    """Python's shortest text of a float, its digits in groups of three as Rust has them."""
    mantissa, e, exponent = repr(x).partition("e")
    whole, _, rest = mantissa.partition(".")
    rest = rest or "0"
    return f"{whole}.{'_'.join(rest[i:i + 3] for i in range(0, len(rest), 3))}" + (f"e{int(exponent)}" if e else "")

def table(f32):
    # ln(1 + f) = f + f^2 P(f), on [2/3, 4/3) - 1 (f32 only: f64 sums the series of 2 artanh(f / (2 + f))).
    if f32:
        log = lambda f: (mp.log1p(f) - f) / f ** 2 if abs(f) > mpf(10) ** -20 else mpf(-1) / 2
        show("LOG", "P of ln(1 + f) = f + f^2 P(f), from 2/3 to 4/3.", fit(log, -mpf(1) / 3, mpf(1) / 3, 8), f32,
             lambda f, p: (f + f * f * p(f)) / mp.log1p(f) - 1, -mpf(1) / 3, mpf(1) / 3)
    # e^r - 1 = r + r^2 P(r), on half of ln 2 around 0.
    h = mp.log(2) / 2 * mpf('1.001')
    exp = lambda r: (mp.expm1(r) - r) / r ** 2 if abs(r) > mpf(10) ** -20 else mpf(1) / 2
    show("EXPM1", "P of e^r - 1 = r + r^2 P(r), up to ln 2 / 2.", fit(exp, -h, h, 4 if f32 else 10), f32, lambda r, p: (r + r * r * p(r)) / mp.expm1(r) - 1, -h, h)
    # sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 P(r^2), on an eighth of a turn.
    q = (mp.pi / 4) ** 2 * mpf('1.01')
    sin = lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3
    show("SIN", "P of sin r = r + r^3 P(r^2), up to pi / 4.", fit(sin, 0, q, 2 if f32 else 6), f32,
         lambda z, p: (mp.sqrt(z) + z * mp.sqrt(z) * p(z)) / mp.sin(mp.sqrt(z)) - 1, mpf(10) ** -6, q)
    cos = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2
    show("COS", "P of cos r = 1 - r^2 / 2 + r^4 P(r^2), up to pi / 4.", fit(cos, 0, q, 2 if f32 else 6), f32,
         lambda z, p: (1 - z / 2 + z * z * p(z)) / mp.cos(mp.sqrt(z)) - 1, mpf(10) ** -6, q)
    # erf x = x + x P(x^2) up to 1 (f32), 1.5 (f64).
    erf = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1
    show("ERF", f"P of erf x = x + x P(x^2), up to {1 if f32 else 1.5}.", fit(erf, 0, 1 if f32 else mpf('2.25'), 6 if f32 else 20), f32,
         lambda z, p: (1 + p(z)) * mp.sqrt(z) / mp.erf(mp.sqrt(z)) - 1, mpf(10) ** -6, 1 if f32 else mpf('2.25'))
    # erf x = 1 - 2^P(x - 2.5) (f32), 1 - e^P(x - 3.75) (f64), from there to where it is 1.
    if f32:
        show("ERFC", "P of erf x = 1 - 2^P(x - 2.5), from 1 to 4.", fit(lambda t: mp.log(mp.erfc(t + mpf('2.5')), 2), -1.5, 1.5, 8), f32,
             lambda t, p: (1 - 2 ** p(t)) / mp.erf(t + mpf('2.5')) - 1, -1.5, 1.5)
    else:
        show("ERFC", "P of erf x = 1 - e^P(x - 3.75), from 1.5 to 6.", fit(lambda t: mp.log(mp.erfc(t + mpf('3.75'))), -2.25, 2.25, 24), f32,
             lambda t, p: (1 - mp.exp(p(t))) / mp.erf(t + mpf('3.75')) - 1, -2.25, 2.25)

print("//! Polynomials, lowest coefficient first. Printed by `coefficients.py`, which derives them: change them there.\n")
for f32 in (True, False):
    table(f32)
mp.dps = 500
count = 42
bits = int(mp.floor(2 / mp.pi * mpf(2) ** (32 * count)))
print("/// The bits of 2 / pi behind the point, 32 a word.")
print(f"pub(super) const TWO_OVER_PI: [u32; {count}] = [")
for i in range(count):
    word = f"{bits >> (32 * (count - 1 - i)) & 0xFFFFFFFF:08X}"
    print(f"    0x{word[:4]}_{word[4:]},")
print("];")

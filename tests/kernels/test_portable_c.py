"""The headers of the kernels are standard C 11, apart from what they use if the compiler is GNU's or Clang: MSVC compiles them too.

MSVC is not here. Instead, a program hides `__GNUC__` from the headers, and the compiler rejects every extension of the language. It has
to print the same numbers as with the extensions; all of them are small integers, so the order of a sum does not matter.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import minigrad

HEADERS = Path(minigrad.__file__).parent / "kernels" / "cpu"
COMPILER = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")

pytestmark = pytest.mark.skipif(sys.platform == "win32" or not shutil.which(COMPILER[0]), reason="needs a C compiler")

PROGRAM = r"""
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HIDE
#undef __GNUC__
#endif
#include "comparison.h"
#include "halves.h"
#include "elementwise.h"
#include "broadcast.h"
#include "rows.h"
#include "products.h"
#include "pooling.h"
#include "steps.h"
#include "convolution.h"

#define PRINT(x) for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) printf("%g ", (double)x[i]); puts("");
#define FILL(x) for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) x[i] = (float)(i * i % 7) - 3;

int main(void) {
    mg_size product = 0;
    const mg_size sizes[] = {0, 1, 3, (mg_size)1 << 31, ((mg_size)1 << 62) - 1, PTRDIFF_MAX / 3, PTRDIFF_MAX / 2, PTRDIFF_MAX};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            if (mg_times(sizes[i], sizes[j], &product)) printf("too large, "); else printf("%lld, ", (long long)product);
    puts("");

    /* two images, two groups of two channels, three outputs of each group; a row of the result does not fill the vectors */
    const mg_geometry g = {2, {1, 5, 19}, {1, 3, 3}, {1, 1, 2}, {0, 1, 1}, {1, 1, 1}, {1, 5, 10}};
    float x[2 * 4 * 5 * 19], w[6 * 2 * 9], z[2 * 6 * 5 * 10] = {0}, dw[6 * 2 * 9] = {0};
    FILL(x) FILL(w)
    if (mg_conv_f32(x, w, z, &g, 2, 2, 3, 0, 1, 1) < 0 || mg_conv_weight_f32(z, x, dw, &g, 2, 2, 3, 1) < 0) return 1;
    PRINT(z) PRINT(dw)
    /* the same numbers as 19 images with short rows: vectors of images, and of taps */
    const mg_geometry short_rows = {10, {1, 1, 4}, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}, {1, 1, 1}, {1, 1, 4}};
    float many[19 * 3 * 4] = {0}, taps[3 * 10 * 3] = {0};
    if (mg_conv_f32_16(x, w, many, &short_rows, 19, 1, 3, 0, 0, MG_OF_IMAGES, 1) < 0 || mg_conv_taps_f32_16(many, x, taps, &short_rows, 19, 1, 3, 1) < 0)
        return 1;
    PRINT(many) PRINT(taps)
    /* windows of 3 x 3, stride 2 and padding 1 of rows of 19, the first of which is shorter */
    const mg_size plane[] = {1, 5, 19}, kernel[] = {1, 3, 3}, windows[] = {1, 3, 10};
    int64_t depths[1] = {0}, heights[9], widths[30], *places[] = {depths, heights, widths}, where[8 * 3 * 10];
    float maxima[8 * 3 * 10];
    for (int i = 0; i < 9; i++) heights[i] = i / 3 * 2 + i % 3 < 1 ? 0 : i / 3 * 2 + i % 3 > 5 ? 4 : i / 3 * 2 + i % 3 - 1;
    for (int i = 0; i < 30; i++) widths[i] = i / 3 * 2 + i % 3 < 1 ? 0 : i / 3 * 2 + i % 3 > 19 ? 18 : i / 3 * 2 + i % 3 - 1;
    if (mg_max_planes_f32(x, maxima, where, 8, plane, kernel, windows, places) < 0) return 1;
    PRINT(maxima) PRINT(where)
    float sums[19];
    mg_sum_columns_f32(x, sums, 19, 40, 19);
    PRINT(sums)
    float rows[40], total;
    mg_sum_rows_f32(x, rows, 40, 19);
    mg_sum_rows_f32(z, &total, 1, 600);
    PRINT(rows)
    printf("%g\n", (double)total);
    const mg_spread spread = {2, {19, 40}, {4, 76}, {0, 4}};
    mg_run_spread(mg_binary_loops[MG_B_add][0][1], &spread, (char *)x, (char *)rows, (char *)x, 4, 1);
    PRINT(x)
    mg_small_product_f32(x, 9, 1, w, 12, 1, z, 5, 9, 12);
    PRINT(z)
    const mg_size columns[] = {4, 10, 21, 70};          /* each size of a vector, and rows that do not fill the last one */
    for (int i = 0; i < 4; i++)
        for (int by_columns = 0; by_columns < 2; by_columns++) {
            const mg_size n = columns[i];
            if (mg_product_f32(w, 5, 1, x, by_columns ? 1 : n, by_columns ? 5 : 1, z, n, 8, 5, n) < 0) return 1;
            for (mg_size j = 0; j < 8 * n; j++) printf("%g ", (double)z[j]);
            puts("");
        }
    return 0;
}
"""


def printed(folder, *options):
    source, program = folder / "program.c", folder / "program"
    source.write_text(PROGRAM, "utf-8")
    made = subprocess.run([*COMPILER, "-std=c11", "-pedantic-errors", "-Werror=vla", *options, f"-I{HEADERS}", str(source), "-o", str(program), "-lm"],
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_without_the_extensions_of_a_compiler_the_numbers_are_the_same(tmp_path):
    plain = printed(tmp_path, "-DHIDE")
    products = plain.partition("\n")[0].split(", ")
    sizes = [0, 1, 3, 1 << 31, (1 << 62) - 1, (2**63 - 1) // 3, (2**63 - 1) // 2, 2**63 - 1]
    assert products[:64] == [str(a * b) if a * b < 2**63 else "too large" for a in sizes for b in sizes]
    assert plain == printed(tmp_path)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the golden values of the flash model from a reference implementation of it.

    make_drive_matrix.py REFERENCE.py > drive_matrix.csv

REFERENCE.py is an independent Python statement of the equations in docs/model.md. It must define
DRIVES (name -> (parameters, ...)), MATRIX (label, metric, condition, workload) and
one(parameters, condition, metric, workload, ios), which runs a workload in a closed loop in virtual
time. The output has two kinds of rows: `param`, the parameters of each drive, and `result`, what
the reference predicts for each workload. The C model is tested against them; commit the output.
"""
import importlib.util
import sys

IOS = 16000

# name of the shipped profile -> name in the reference
SHIPPED = {
    "samsung-sm961-512gb": "Samsung SM961 512GB",
    "intel-p4600-1.6tb": "Intel P4600 1.6TB",
    "intel-p4610-1.6tb": "Intel P4610 1.6TB",
    "intel-p4800x-375gb": "Intel Optane P4800X 375GB",
    "samsung-870-qvo-1tb": "Samsung 870 QVO 1TB",
    "intel-s4510-3.84tb": "Intel S4510 3.84TB SATA (measured)",
}
# profiles that differ from a shipped one in the steady 4K random write rate only
VARIANTS = {
    "samsung-sm961-512gb-worn": ("samsung-sm961-512gb", 10e3),
    "samsung-sm961-512gb-light": ("samsung-sm961-512gb", 60e3),
}
# parameter in the reference -> figure in a profile
FIGURES = {"cap_gb": "capacity", "hd": "half_duplex", "slc_gb": "slc"}
SCALE = {"cap_gb": 1e9, "slc_gb": 1e9}


def load(path):
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def drives(ref):
    out = {name: dict(ref.DRIVES[known][0]) for name, known in SHIPPED.items()}
    for name, (base, steady_iops) in VARIANTS.items():
        p = dict(out[base])
        p["wa"] = round(max(1.0, p["nat"] * 1e6 / (4096.0 * steady_iops)), 2)
        out[name] = p
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ref = load(sys.argv[1])
    print("# Made by: tests/golden/make_drive_matrix.py REFERENCE.py > tests/golden/drive_matrix.csv")
    print("# param,PROFILE,FIGURE,VALUE (us, MB/s, bytes, MiB, 0 or 1)")
    print("# result,PROFILE,LABEL,METRIC,CONDITION,QD,READ_SHARE,SIZE,SEQUENTIAL,SYNC,IOS,WARM,VALUE")
    print("# Closed loop: IOS I/Os, QD outstanding, the first WARM of them not counted.")
    for name, p in sorted(drives(ref).items()):
        for key, value in p.items():
            print("param,%s,%s,%r" % (name, FIGURES.get(key, key), value * SCALE.get(key, 1)))
        for label, metric, condition, work in ref.MATRIX:
            seen = {}
            inner = ref.run

            def spy(dev, cap, qd, nio, **kw):
                seen.update(kw, qd=qd, nio=nio)
                return inner(dev, cap, qd, nio, **kw)

            ref.run = spy
            try:
                value = ref.one(p, condition, metric, work, IOS)
            finally:
                ref.run = inner
            print("result,%s,%s,%s,%s,%d,%g,%d,%d,%d,%d,%g,%.9g" % (
                name, label.replace(",", ""), metric, condition, seen["qd"], seen["rfrac"],
                seen.get("size", 4096), seen.get("seq", False), seen.get("sync", False),
                seen["nio"], seen["warm"], value))
            sys.stdout.flush()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""What scripts/run, scripts/compare and scripts/host-check share. Needs Python 3.9, numpy, matplotlib and tqdm."""

"""What the forking process imports. Nothing here starts a thread or computes."""

import lightgbm
import pandas
import pyarrow.parquet
import sklearn.ensemble
import sklearn.linear_model
import skops.io
import torch

import distpu.answer
import distpu.cli
import distpu.methods
import distpu.predictions
import distpu.report.page
import distpu.study.reproduce
import distpu.study.runs
import small

torch.set_num_threads(1)

__all__ = ["distpu", "lightgbm", "pandas", "pyarrow", "skops", "sklearn", "small", "torch"]

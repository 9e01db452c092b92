"""The version: that of libseam_torch.so."""

__version__ = "0.1.0"

"""What tools/trace_model.py is made of: models, the recorder of their allocations, and the trace file."""

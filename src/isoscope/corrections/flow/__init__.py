"""The network behind the correction by a flow."""

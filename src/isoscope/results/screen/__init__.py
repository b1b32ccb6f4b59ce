"""What a terminal shows of a result: the answer first, few numbers, small pictures, a next step.

``blocks`` is what a screen consists of, and ``layout`` arranges it in lines that fit a terminal.
"""

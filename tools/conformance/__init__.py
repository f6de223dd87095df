"""The conformance kit: every case of tests/cases, to be run on any runtime, and the results.

    python -m tools.conformance write KIT     the kit: cases, index and the package `kit`, alone
    python -m tools.conformance run KIT       the runtimes installed here, each in its own process
    python -m tools.conformance page KIT      docs/conformance.md and docs/reports from the results
    python -m tools.conformance all           the three, in a folder that is thrown away

A case is a folder in the form of onnx's backend tests, at each opset where it says something new.
"""

"""The site: docs/ and the pages at the root, with a reference of the code, built by Zensical.

    python -m tools.site            into build/site; fails on any warning
    python -m tools.site --stage    only what Zensical reads, in build/site_source

The pages stay readable where they lie: their links are those of the repository. Here each is
copied, and links that lead out of the site become links to the repository's public address; where
that is not set they become text.
"""

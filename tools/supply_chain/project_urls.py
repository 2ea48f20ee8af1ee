"""The addresses in the package's metadata, from that of the repository it is released from: TREETOP_REPOSITORY.

The release workflow knows its repository and sets it; a copy of the project that is built elsewhere names no address
that is not its own. The wheel that is built from a released sdist has the sdist's.
"""

import os
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "TREETOP_REPOSITORY"


def urls(repository: str, version: str) -> dict[str, str]:
    """Return where everything is, of that version where it has versions."""
    if not re.fullmatch(r"https://[\w.\-]+(/[\w.\-]+)+", repository):
        raise ValueError(f"{VARIABLE}: expected https://HOST/OWNER/NAME, found {repository!r}")
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/v{version}/docs/index.md",
        "Source": f"{repository}/tree/v{version}",
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Report a vulnerability": f"{repository}/security/advisories/new",
    }


class ProjectUrls(MetadataHookInterface):
    """Fills in `project.urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses, if the repository's is known."""
        if repository := os.environ.get(VARIABLE):
            metadata["urls"] = urls(repository, metadata["version"])

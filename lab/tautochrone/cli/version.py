"""``tauto version``: this version, and which runtimes can be measured here."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone import __version__
from tautochrone.machine.runners import Peer, PeerState, peer_state
from tautochrone.studies import STUDIES, study_named


@dataclass(frozen=True)
class VersionRequest:
    """Print the version, and which runtimes can be measured here.

    \b
    Example:
      tauto version
    """  # noqa: D301

    def run(self) -> int:
        print(f"tautochrone {__version__}")
        for state in all_peer_states():
            if state.description is not None:
                what = (
                    " ".join(filter(None, (state.description.library, state.description.version))) or "here"
                )
            else:
                what = f"not measured: {state.reason}. {state.remedy}"
            print(f"  {state.peer.name:<12} {what}")
        return 0


def all_peer_states() -> list[PeerState]:
    """The state of every peer, each once, whatever study it takes part in."""
    every: dict[str, Peer] = {}
    for peer in (peer for name in STUDIES for peer in study_named(name).PEERS):
        every.setdefault(peer.name, peer)
    return [peer_state(peer) for peer in every.values()]

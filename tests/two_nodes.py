"""A real Ray cluster of two worker nodes on this machine, of which a test kills one."""

from contextlib import contextmanager


@contextmanager
def two_nodes(monkeypatch):
    """Yield a function that kills one of two nodes, each of one core, as a power cut would."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # on loopback: a token would be written into the home folder
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        _, second = cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        yield lambda: cluster.remove_node(second, allow_graceful=False)
    finally:
        ray.shutdown()
        cluster.shutdown()

"""Small settings, so that the contract runs over every method in seconds. Module level: pickle finds them."""

from distpu import METHODS, nets


def small_net(shape):
    return nets.mlp(shape, width=24)


# PULDA's published rates are for thousands of steps: in dozens, the first must be high and the second must not
OWN = {"pulda": {"warm_up_lr": 2e-3, "lr": 1e-4}}


def small(name, **settings):
    cls = METHODS[name]
    known = cls.__dataclass_fields__
    short = {k: 8 for k in known if k.endswith("epochs")}
    own = {"lr": 2e-3, **OWN.get(name, {})}
    return cls(**{"batch_size": 32, "network": small_net, "random_state": 0, **own, **short, **settings})

"""Small settings, so that the contract runs over every method in seconds. Module level: pickle finds them."""

from distpu import METHODS, nets


def small_net(shape):
    return nets.mlp(shape, width=24)


def small(name, **settings):
    cls = METHODS[name]
    known = cls.__dataclass_fields__
    short = {k: 8 for k in ("epochs", "warm_up_epochs") if k in known}
    return cls(**{"batch_size": 32, "network": small_net, "random_state": 0, "lr": 2e-3, **short, **settings})

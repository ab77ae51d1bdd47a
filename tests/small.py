"""Small settings, so that the contract runs over every method in seconds. Module level: pickle finds them."""

from distpu import METHODS, nets
from distpu.methods._network import NetworkMethod
from distpu.train.run import Run
from distpu.train.views import Views


class SmallNet:
    """A callable with a name that is the same in every process: test ids are made of it."""

    def __call__(self, shape):
        return nets.mlp(shape, width=24)

    def __repr__(self):
        return "small_net"

    def __eq__(self, other):
        return isinstance(other, SmallNet)

    def __hash__(self):
        return 0


small_net = SmallNet()


def watched(seen):
    """Views that change nothing and write their names into `seen`."""

    def named(name):
        def view(x):
            seen.append(name)
            return x

        return view

    return Views(*map(named, ("weak", "strong", "part", "pair")))


# at 2e-3 PULDA's Mixup undoes on the toy what its warm-up learned: 0.97 of the hidden labels right before, 0.56 after
OWN = {"pulda": {"warm_up_lr": 2e-3, "lr": 1e-4}}
# scikit-learn's checks hand over true labels: the prior is then 0.01, and a posterior takes longer
OWN |= {name: {"posterior_epochs": 16, "epochs": 16} for name in ("pubn", "apu")}

# eight short epochs are too few for the weight that some hundred labelled rows want
OWN |= {"vpu": {"weight": 2.0, "epochs": 16}}  # an epoch is over the unlabelled rows alone
OWN |= {"genpu": {"game_epochs": 12, "game_lr": 3e-3, "epochs": 4, "width": 32, "noise": 8}}
OWN |= {"pulns": {"episodes": 1, "epochs": 4, "batch_size": 64}}


# a batch of 32 would have no unlabelled row
OWN |= {"dist-pu-plus": {"batch_size": 64, "labelled": 16, "warm_up_epochs": 4}}
OWN |= {"ncpu": {"hidden": 16, "lr": 0.01}, "p3mix": {"start": 2}, "robust-pu": {"episodes": 2, "held_out": 4}}
OWN |= {"holistic-pu": {"labelled": 8, "lr": 0.02}}


NETWORKS = [name for name, cls in METHODS.items() if issubclass(cls, NetworkMethod)]
WRAPPERS = [name for name in METHODS if name not in NETWORKS]
FEW = {"elkan-noto": {"folds": 3}, "bagging-pu": {"n_estimators": 20}, "two-step": {"spies": 0.34}}
FEW |= {"blend-pu": {"folds": 2, "trees": 8, "bags": 2}, "dist-pu-boost": {"folds": 2, "bags": 1, "rounds": 20}}
FEW |= {name: {"folds": 2} for name in ("s-em", "llgc", "max-margin", "kldce", "kernel-upu")}
FEW["kernel-upu"] |= {"prior": "binormal"}  # KM2 takes seconds


def small(name, **settings):
    cls = METHODS[name]
    if name in WRAPPERS:
        settings = {key: value for key, value in settings.items() if key in cls.__dataclass_fields__}
        return cls(**{"random_state": 0, **FEW[name], **settings})
    known = cls.__dataclass_fields__
    short = {k: 8 for k in known if k.endswith("epochs")}
    own = {"lr": 2e-3, **short, **OWN.get(name, {})}
    return cls(**{"batch_size": 32, "network": small_net, "random_state": 0, **own, **settings})


def interrupt(monkeypatch, *at):
    """Break training off when these epochs, counted over all stages and tries, have been trained. Returns the count."""
    calls, log = [], Run._log

    def breaks_down(self, *args):
        calls.append(1)
        if len(calls) in at:
            raise KeyboardInterrupt
        log(self, *args)

    monkeypatch.setattr(Run, "_log", breaks_down)
    return calls

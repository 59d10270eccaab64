from dataclasses import dataclass

import pandas as pd

from .config import get

MODELS = {}


def model(name):
    def add(cls):
        MODELS[name] = cls
        return cls

    return add


@model("lotka-volterra")
@dataclass
class LotkaVolterra:
    alpha: float
    beta: float
    delta: float
    gamma: float

    def rhs(self, y, t):
        prey, predators = y
        return [self.alpha * prey - self.beta * prey * predators, self.delta * prey * predators - self.gamma * predators]


PARAMETERS = pd.Series(get("model.parameters"))


def build(kind):
    return MODELS[kind](**PARAMETERS.to_dict())

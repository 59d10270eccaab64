#!/usr/bin/env python
# coding: utf-8

# # Classification of penguins
# 
# Exported with `jupyter nbconvert --to script`.

# In[1]:


import numpy as np
import pandas as pd
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
import seaborn as sns

from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sns.set_theme(style="whitegrid")
np.random.seed(0)


# ## Load the data

# In[2]:


X, y = make_blobs(n_samples=150, centers=3, n_features=4, cluster_std=3.0, random_state=1)
df = pd.DataFrame(X, columns=["bill_length", "bill_depth", "flipper", "mass"])
df["species"] = np.array(["Adelie", "Chinstrap", "Gentoo"])[y]
df.head()


# In[3]:


df.groupby("species").mean()


# ## Fit
# 
# One value of `C` on each rank.

# In[4]:


from mpi4py import MPI
comm = MPI.COMM_WORLD

grid = np.logspace(-3, 1, 6)
scores = {}
for C in grid[comm.rank::comm.size]:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
    scores[float(C)] = cross_val_score(model, df.drop(columns="species"), df.species, cv=3).mean()

scores = comm.allreduce(scores, op=MPI.Op.Create(lambda a, b, _: {**a, **b}, commute=True))


# In[5]:


best = max(sorted(scores), key=scores.get)
X_train, X_test, y_train, y_test = train_test_split(df.drop(columns="species"), df.species, random_state=0)
accuracy = make_pipeline(StandardScaler(), LogisticRegression(C=best)).fit(X_train, y_train).score(X_test, y_test)
print("rank", comm.rank, "best C", round(best, 4), "accuracy", round(accuracy, 4))


# In[6]:


comm.Barrier()
if comm.rank == 0:
    print(pd.Series(scores).sort_index().round(4).to_string())
    ax = sns.scatterplot(data=df, x="bill_length", y="mass", hue="species")
    ax.figure.savefig("penguins.png")
    print(len(ax.collections), "collections")


# In[ ]:

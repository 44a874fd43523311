# A leader that has nothing to tell answers within half the time after which it is taken for dead.
config fetch-timeout=439 epoch=2 leader=2 log=1:0 end=5
> start
persist epoch 2 leader 2 voted -
timer election in 439 ms
leader 2 of epoch 2
to 2: fetch epoch 2 from 5@1 mark 0 waiting 219 ms (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 5 mark 0 t0 peer2* leader-mark -1 probe 0

# A follower too far behind takes a snapshot piece by piece; it replaces the log whole. One that is gone is asked for
# anew; one that does not make sense leaves the log as it was.
config epoch=2 leader=2 log=1:0 end=3
> start
persist epoch 2 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 2
to 2: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=20 snapshot=10@1
timer election in 2000 ms
to 2: fetch snapshot 10@1 epoch 2 at 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* fetched leader-mark -1 probe 0 fetching 10-1 at 0
> pieced from=2 epoch=2 leader=2 id=10@1 position=0 bytes=100 of=150
write piece of 10@1 at 0
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 op>3 t0 fetched leader-mark -1 probe 0 fetching 10-1 at 100
> done
to 2: fetch snapshot 10@1 epoch 2 at 100 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* fetched leader-mark -1 probe 0 fetching 10-1 at 100
> pieced from=2 epoch=2 leader=2 error=98 id=10@1 position=0 bytes=0 of=0
timer election in 2000 ms
to 2: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=20 snapshot=15@2
timer election in 2000 ms
to 2: fetch snapshot 15@2 epoch 2 at 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* fetched leader-mark -1 probe 0 fetching 15-2 at 0
> pieced from=2 epoch=2 leader=2 id=15@2 position=5 bytes=100 of=150
complaint: 2 sent a piece of a snapshot that does not fit, at 5
timer retry in 20 ms
to 3: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 t3 peer2~ peer3* fetched leader-mark -1 probe 0
> timer retry
to 2: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=20 snapshot=15@2
timer election in 2000 ms
to 2: fetch snapshot 15@2 epoch 2 at 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* fetched leader-mark -1 probe 0 fetching 15-2 at 0
> pieced from=2 epoch=2 leader=2 id=15@2 position=0 bytes=150 of=150
write piece of 15@2 at 0, the last
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 op>3 t0 peer3* fetched leader-mark -1 probe 0 fetching 15-2 at 150 installing
> timer election
timer election in 1601 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 op>3 t0 peer3* fetched leader-mark -1 probe 0 fetching 15-2 at 150 installing
> snapshot-refused
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 t3 peer2~ peer3* fetched leader-mark -1 probe 0
> timer retry
to 2: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=20 snapshot=15@2
timer election in 2000 ms
to 2: fetch snapshot 15@2 epoch 2 at 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* fetched leader-mark -1 probe 0 fetching 15-2 at 0
> pieced from=2 epoch=2 leader=2 id=15@2 position=0 bytes=150 of=150
write piece of 15@2 at 0, the last
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 op>3 t0 peer3* fetched leader-mark -1 probe 0 fetching 15-2 at 150 installing
> installed
committed 15
to 2: fetch epoch 2 from 15@2 mark 15 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 15@2 end 15 mark 15 snapshot 15-2 t0 peer2* peer3* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=20 batches=15-20@2
append 1 fetched batches from 15 to 20
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 15@2 2:15 end 20 durable 15 mark 15 snapshot 15-2 op>20 t0 peer3* fetched leader-mark 20 probe 0
> done
committed 20
to 2: fetch epoch 2 from 20@2 mark 20 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 15@2 2:15 end 20 mark 20 snapshot 15-2 t0 peer2* peer3* fetched leader-mark 20 probe 0

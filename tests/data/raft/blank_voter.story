# A voter whose disk was lost: whoever has records gets neither vote nor pre-vote from it, which is told once. It writes no
# quorum-state until it has what a leader calls committed in its own epoch; then it votes again.
config
> start
timer election in 1601 ms
to 2: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> vote from=2 epoch=4 last=9@3 pre
no timer election
timer election in 1601 ms
leader -1 of epoch 4
withholds its vote from 2
answer #1: ok leader -1 epoch 4 not granted
to 3: fetch epoch 4 from 0@0 mark 0
= unattached epoch 4 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer3* probe 0
> vote from=2 epoch=5 last=9@3
no timer election
timer election in 1601 ms
leader -1 of epoch 5
answer #2: ok leader -1 epoch 5 not granted
to 2: fetch epoch 5 from 0@0 mark 0
= unattached epoch 5 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> vote from=3 epoch=5 last=9@3
answer #3: ok leader -1 epoch 5 not granted
= unattached epoch 5 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> begin leader=2 epoch=5
no timer election
timer election in 2000 ms
leader 2 of epoch 5
answer #4: ok leader 2 epoch 5
to 2: fetch epoch 5 from 0@0 mark 0
= follower epoch 5 leader 2 voted -1 blank log 0 end 0 mark 0 t0 peer2* leader-mark -1 probe 1
> fetched from=2 epoch=5 leader=2 mark=9 batches=0-4@3
append 1 fetched batches from 0 to 4
timer election in 2000 ms
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 durable 0 mark 0 op>4 t0 fetched leader-mark 9 probe 1
> done
committed 4
to 2: fetch epoch 5 from 4@3 mark 4
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 4 t0 peer2* fetched leader-mark 9 probe 1
> fetched from=2 epoch=5 leader=2 mark=9 batches=4-8@3
append 1 fetched batches from 4 to 8
timer election in 2000 ms
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 8 durable 4 mark 4 op>8 t0 fetched leader-mark 9 probe 1
> vote from=3 epoch=6 last=9@3
no timer election
timer election in 1747 ms
leader -1 of epoch 6
answer #5: ok leader -1 epoch 6 not granted
= unattached epoch 6 leader -1 voted -1 blank log 0 3:0 end 8 durable 4 mark 4 op>8 t0 probe 1
> done
to 3: fetch epoch 6 from 8@3 mark 4
= unattached epoch 6 leader -1 voted -1 blank log 0 3:0 end 8 mark 4 t0 peer3* probe 0
> begin leader=3 epoch=6
no timer election
timer election in 2000 ms
leader 3 of epoch 6
answer #6: ok leader 3 epoch 6
to 3: fetch epoch 6 from 8@3 mark 4
= follower epoch 6 leader 3 voted -1 blank log 0 3:0 end 8 mark 4 t0 peer3* leader-mark -1 probe 0
> fetched from=3 epoch=6 leader=3 mark=-1 batches=8-9@3,9-10@6
append 2 fetched batches from 8 to 10
timer election in 2000 ms
= follower epoch 6 leader 3 voted -1 blank log 0 3:0 6:9 end 10 durable 8 mark 4 op>10 t0 fetched leader-mark -1 probe 0
> done
to 3: fetch epoch 6 from 10@6 mark 4
= follower epoch 6 leader 3 voted -1 blank log 0 3:0 6:9 end 10 mark 4 t0 peer3* fetched leader-mark -1 probe 0
> fetched from=3 epoch=6 leader=3 mark=10
persist epoch 6 leader 3 voted -
committed 10
timer election in 2000 ms
to 3: fetch epoch 6 from 10@6 mark 10 (once written)
= follower epoch 6 leader 3 voted -1 unwritten 1 log 0 3:0 6:9 end 10 mark 10 t0 peer3* fetched leader-mark 10 probe 0
> vote from=2 epoch=7 last=10@6
no timer election
persist epoch 7 leader -1 voted -
timer election in 1103 ms
leader -1 of epoch 7
persist epoch 7 leader -1 voted 2
timer election in 1416 ms
answer #7: ok leader -1 epoch 7 granted (once written)
to 2: fetch epoch 7 from 10@6 mark 10 (once written)
= unattached epoch 7 leader -1 voted 2 unwritten 3 log 0 3:0 6:9 end 10 mark 10 t0 peer2* probe 1
> persisted
= unattached epoch 7 leader -1 voted 2 log 0 3:0 6:9 end 10 mark 10 t0 peer2* probe 1
> vote from=2 epoch=8 last=10@6
no timer election
persist epoch 8 leader -1 voted -
timer election in 1416 ms
leader -1 of epoch 8
persist epoch 8 leader -1 voted 2
timer election in 1732 ms
answer #8: ok leader -1 epoch 8 granted (once written)
to 3: fetch epoch 8 from 10@6 mark 10 (once written)
= unattached epoch 8 leader -1 voted 2 unwritten 2 log 0 3:0 6:9 end 10 mark 10 t0 peer3* probe 0
> persisted
= unattached epoch 8 leader -1 voted 2 log 0 3:0 6:9 end 10 mark 10 t0 peer3* probe 0
# A snapshot counts by what the leader says of its mark afterwards. An observer forgets nothing that counts.
config
> start
timer election in 1601 ms
to 2: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> begin leader=2 epoch=5
no timer election
timer election in 2000 ms
leader 2 of epoch 5
answer #1: ok leader 2 epoch 5
to 2: fetch epoch 5 from 0@0 mark 0
= follower epoch 5 leader 2 voted -1 blank log 0 end 0 mark 0 t0 peer2* leader-mark -1 probe 1
> fetched from=2 epoch=5 leader=2 mark=12 snapshot=10@4
timer election in 2000 ms
to 2: fetch snapshot 10@4 epoch 5 at 0
= follower epoch 5 leader 2 voted -1 blank log 0 end 0 mark 0 t0 peer2* fetched leader-mark -1 probe 1 fetching 10-4 at 0
> pieced from=2 epoch=5 leader=2 id=10@4 position=0 bytes=100 of=100
write piece of 10@4 at 0, the last
timer election in 2000 ms
= follower epoch 5 leader 2 voted -1 blank log 0 end 0 mark 0 op>0 t0 fetched leader-mark -1 probe 1 fetching 10-4 at 100 installing
> installed
committed 10
to 2: fetch epoch 5 from 10@4 mark 10
= follower epoch 5 leader 2 voted -1 blank log 10@4 end 10 mark 10 snapshot 10-4 t0 peer2* fetched leader-mark -1 probe 1
> vote from=3 epoch=5 last=10@4 pre
answer #2: ok leader 2 epoch 5 not granted
= follower epoch 5 leader 2 voted -1 blank log 10@4 end 10 mark 10 snapshot 10-4 t0 peer2* fetched leader-mark -1 probe 1
> fetched from=2 epoch=5 leader=2 mark=12 batches=10-12@5
append 1 fetched batches from 10 to 12
timer election in 2000 ms
= follower epoch 5 leader 2 voted -1 blank log 10@4 5:10 end 12 durable 10 mark 10 snapshot 10-4 op>12 t0 fetched leader-mark 12 probe 1
> done
persist epoch 5 leader 2 voted -
committed 12
to 2: fetch epoch 5 from 12@5 mark 12 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 10@4 5:10 end 12 mark 12 snapshot 10-4 t0 peer2* fetched leader-mark 12 probe 1
config self=9
> start
to 1: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 log 0 end 0 mark 0 peer1* probe 1
> begin leader=2 epoch=5
persist epoch 5 leader 2 voted -
leader 2 of epoch 5
answer #1: ok leader 2 epoch 5 (once written)
to 2: fetch epoch 5 from 0@0 mark 0 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 end 0 mark 0 peer2* leader-mark -1 probe 1

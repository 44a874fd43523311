# What a leader answers: errors in Kafka's order, divergence, the snapshot, and who holds how much.
config epoch=4 voted=1 snapshot=10@2 log=2:10,3:12 end=15
> start
timer election in 1601 ms
to 2: vote for 1 epoch 4 last 15@3
to 3: vote for 1 epoch 4 last 15@3
= candidate epoch 4 leader -1 voted 1 log 10@2 2:10 3:12 end 15 mark 10 untold snapshot 10-2 t0 peer2* peer3* +1
> voted from=2 epoch=4 granted
no timer election
persist epoch 4 leader 1 voted -
leader-change epoch 4 at 15 leader 1 granted by 1 2
leads epoch 4 from 15
leader 1 of epoch 4
timer check-quorum in 3000 ms
timer begin-epoch in 1000 ms
to 2: begin epoch 4 of 1 (once written)
to 3: begin epoch 4 of 1 (once written)
= leader epoch 4 leader 1 voted -1 unwritten 1 log 10@2 2:10 3:12 4:15 end 16 durable 15 mark 10 untold snapshot 10-2 op>16 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> persisted
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 durable 15 mark 10 untold snapshot 10-2 op>16 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> done
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=15 last=3 other-cluster
answer #1: top error 104 mark -1 start -1
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=15 last=3 other-topic
answer #2: top error 42 mark -1 start -1
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=15 last=5
answer #3: error 42 leader 1 epoch 4 mark -1 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=-1 last=3
answer #4: error 42 leader 1 epoch 4 mark -1 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=3 offset=15 last=3
answer #5: error 74 leader 1 epoch 4 mark -1 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=5 offset=15 last=3
answer #6: error 75 leader 1 epoch 4 mark -1 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=1 epoch=4 offset=15 last=3
answer #7: error 42 leader 1 epoch 4 mark -1 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=14 last=2 wait=500
answer #8: ok leader 1 epoch 4 mark -1 start 10 diverging 12@2
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=20 last=3 wait=500
answer #9: ok leader 1 epoch 4 mark -1 start 10 diverging 15@3
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=0 wait=500
answer #10: ok leader 1 epoch 4 mark -1 start 10 snapshot 10@2
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=9 last=2 wait=500
answer #11: ok leader 1 epoch 4 mark -1 start 10 snapshot 10@2
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=2 epoch=4 offset=10 last=1 wait=500
answer #12: ok leader 1 epoch 4 mark -1 start 10 snapshot 10@2
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch-snapshot from=2 epoch=4 id=10@2
timer check-quorum in 3000 ms
answer #13: ok leader 1 epoch 4 piece of 10@2 at 0
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch-snapshot from=2 epoch=3 id=10@2
answer #14: error 74 leader 1 epoch 4 piece of 10@2 at 0
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch-snapshot from=2 epoch=4 id=10@2 other-topic
answer #15: error 3 leader 1 epoch 4 piece of 10@2 at 0
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1?
> fetch from=9 epoch=4 offset=10 last=2 wait=500
answer #16: ok leader 1 epoch 4 mark -1 start 10 with records from 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=-1? 3=-1? (9=10)
> fetch from=2 epoch=4 offset=15 last=3 wait=500
timer check-quorum in 3000 ms
answer #17: ok leader 1 epoch 4 mark -1 start 10 with records from 15
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 10 untold snapshot 10-2 t1 t2 peer2* peer3* start 15 unmarked 2=15 3=-1? (9=10)
> fetch from=2 epoch=4 offset=16 last=4 mark=10 wait=500
timer check-quorum in 3000 ms
committed 16
answer #18: ok leader 1 epoch 4 mark 16 start 10
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 16 snapshot 10-2 t1 t2 peer2* peer3* start 15 2=16 3=-1? (9=10)
> fetch from=-1 epoch=4 offset=16 last=4 wait=500
timer parked-fetch in 500 ms
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 16 snapshot 10-2 t1 t2 t4 peer2* peer3* start 15 2=16 3=-1? (9=10) parked -1@16
> withdrawn ticket=19
no timer parked-fetch
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 16 snapshot 10-2 t1 t2 peer2* peer3* start 15 2=16 3=-1? (9=10)
> timer begin-epoch
timer begin-epoch in 1000 ms
= leader epoch 4 leader 1 voted -1 log 10@2 2:10 3:12 4:15 end 16 mark 16 snapshot 10-2 t1 t2 peer2* peer3* start 15 2=16 3=-1?! (9=10)
> snapshot-taken id=16@4 start=12@2
= leader epoch 4 leader 1 voted -1 log 12@2 3:12 4:15 end 16 mark 16 snapshot 16-4 t1 t2 peer2* peer3* start 15 2=16 3=-1?! (9=10)
> begin leader=3 epoch=5
no timer check-quorum
no timer begin-epoch
leads epoch 4 no more
persist epoch 5 leader 3 voted -
timer election in 2000 ms
leader 3 of epoch 5
answer #20: ok leader 3 epoch 5 (once written)
to 3: fetch epoch 5 from 16@4 mark 16 (once written)
= follower epoch 5 leader 3 voted -1 unwritten 1 log 12@2 3:12 4:15 end 16 mark 16 snapshot 16-4 t0 peer3* leader-mark -1 probe 0
> append epoch=4
refuse #7
= follower epoch 5 leader 3 voted -1 unwritten 1 log 12@2 3:12 4:15 end 16 mark 16 snapshot 16-4 t0 peer3* leader-mark -1 probe 0

# After a restart it takes the next epoch and commits the old tail with its own first record, not before.
config voters=1 epoch=4 leader=1 log=4:0 end=100
> start
persist epoch 5 leader -1 voted 1
leader -1 of epoch 5
= candidate epoch 5 leader -1 voted 1 unwritten 1 log 0 4:0 end 100 mark 0
> persisted
persist epoch 5 leader 1 voted -
leader-change epoch 5 at 100 leader 1 granted by 1
leads epoch 5 from 100
leader 1 of epoch 5
= leader epoch 5 leader 1 voted -1 unwritten 1 log 0 4:0 5:100 end 101 durable 100 mark 0 op>101 start 100 unmarked
> done
committed 101
= leader epoch 5 leader 1 voted -1 unwritten 1 log 0 4:0 5:100 end 101 mark 101 start 100

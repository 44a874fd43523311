# A node alone elects itself, says nothing before it is durable, and commits what is on its disk.
config voters=1 kraft=1 unwritten
> start
persist epoch 1 leader -1 voted 1
leader -1 of epoch 1
= candidate epoch 1 leader -1 voted 1 unwritten 1 log 0 end 0 mark 0
> append epoch=1 count=2
refuse #7
= candidate epoch 1 leader -1 voted 1 unwritten 1 log 0 end 0 mark 0
> persisted
persist epoch 1 leader 1 voted -
leader-change epoch 1 at 0 leader 1 granted by 1 with voters
leads epoch 1 from 0
leader 1 of epoch 1
= leader epoch 1 leader 1 voted -1 unwritten 1 log 0 1:0 end 3 durable 0 mark 0 op>3 voters@2 start 0 unmarked
> persisted
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 3 durable 0 mark 0 op>3 voters@2 start 0 unmarked
> append epoch=1 count=2
append #7 epoch 1 at 3
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 5 durable 0 mark 0 op>3 op>5 voters@2 start 0 unmarked
> append epoch=1
append #7 epoch 1 at 5
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 6 durable 0 mark 0 op>3 op>5 op>6 voters@2 start 0 unmarked
> append epoch=0
refuse #7
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 6 durable 0 mark 0 op>3 op>5 op>6 voters@2 start 0 unmarked
> done
committed 6
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 6 mark 6 voters@2 start 0

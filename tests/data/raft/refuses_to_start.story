# Where it would lie: another directory than the only voter's. A vote that is older than the log does not count.
config voters=1/9 dir=7
> start
refused: start the metadata quorum: this node is 1 in directory BwAAAAAAAAAAAAAAAAAAAA, the only voter is 1 in directory CQAAAAAAAAAAAAAAAAAAAA
config voters=1 epoch=2 leader=1 log=3:0 end=10
> start
persist epoch 4 leader -1 voted 1
leader -1 of epoch 4
= candidate epoch 4 leader -1 voted 1 unwritten 1 log 0 3:0 end 10 mark 0

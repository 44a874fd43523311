# Where it would lie: another directory than the only voter's, a log that knows an epoch that the vote does not.
config voters=1/9 dir=7
> start
refused: start the metadata quorum: this node is 1 in directory BwAAAAAAAAAAAAAAAAAAAA, the only voter is 1 in directory CQAAAAAAAAAAAAAAAAAAAA
config voters=1 epoch=2 leader=1 log=3:0 end=10
> start
refused: start the metadata quorum: quorum-state has epoch 2, the log ends in epoch 3

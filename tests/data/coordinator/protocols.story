# The protocol is one that all support, by most votes; the smallest name among equals. Opaque types are as good.
> join g - v=3 type=connect protocols=sessioned:1,compatible:2
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 connect m1* join#1
> join g - v=3 type=connect protocols=compatible:3,sessioned:4
g PreparingRebalance gen 0 connect m1* join#1 m2 join#2
> join g - v=3 type=connect protocols=compatible:5,sessioned:6
g PreparingRebalance gen 0 connect m1* join#1 m2 join#2 m3 join#3
> join g - v=3 type=connect protocols=eager:7
#4 join INCONSISTENT_GROUP_PROTOCOL as -
g PreparingRebalance gen 0 connect m1* join#1 m2 join#2 m3 join#3
> wait 0
#1 join generation 1 connect/compatible leader m1 as m1 [m1 - 2] [m2 - 3] [m3 - 5]
#2 join generation 1 connect/compatible leader m1 as m2
#3 join generation 1 connect/compatible leader m1 as m3
g CompletingRebalance gen 1 connect/compatible m1* m2 m3
> join g - v=3 type=connect protocols=sessioned:8,compatible:9
g PreparingRebalance gen 1 connect/compatible m1* m2 m3 m5 join#5
> join g m1 type=connect protocols=sessioned:1,compatible:2
g PreparingRebalance gen 1 connect/compatible m1* join#6 m2 m3 m5 join#5
> join g m2 type=connect protocols=compatible:3,sessioned:4
g PreparingRebalance gen 1 connect/compatible m1* join#6 m2 join#7 m3 m5 join#5
> join g m3 type=connect protocols=compatible:5,sessioned:6
#6 join generation 2 connect/compatible leader m1 as m1 [m1 - 2] [m2 - 3] [m3 - 5] [m5 - 9]
#7 join generation 2 connect/compatible leader m1 as m2
#8 join generation 2 connect/compatible leader m1 as m3
#5 join generation 2 connect/compatible leader m1 as m5
g CompletingRebalance gen 2 connect/compatible m1* m2 m3 m5
> sync g m1 2 assign=m1:x,m2:y
append g type=connect generation=2 protocol=compatible leader=m1 since=1000000 [m1 - c/h 10000/60000 2->x] [m2 - c/h 10000/60000 3->y] [m3 - c/h 10000/60000 5->] [m5 - c/h 10000/60000 9->]
#9 sync connect/compatible x
g Stable gen 2 connect/compatible m1*=x m2=y m3 m5
> delete-offsets g t-0
#10 delete-offsets NON_EMPTY_GROUP:
g Stable gen 2 connect/compatible m1*=x m2=y m3 m5

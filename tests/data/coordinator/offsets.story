config metadata-max=4
# Commits by tools, fetches, deletions.
> commit g - -1 t-0:102:m t-1:-5
append g t-0@102:-1:m:1000000:-1:-
append g t-1@-5:-1::1000000:-1:-
#1 commit NONE NONE
g Empty gen 0
> commit g - -1 t-0:7:xxxxx t-1:8
append g t-1@8:-1::1000000:-1:-
#2 commit OFFSET_METADATA_TOO_LARGE NONE
g Empty gen 0
> commit g - -1 t-0:9:ßßßß
append g t-0@9:-1:ßßßß:1000000:-1:-
#3 commit NONE
g Empty gen 0
> commit g m1 4 t-0:1
#4 commit UNKNOWN_MEMBER_ID
g Empty gen 0
> commit g - 4 t-0:1
#5 commit UNKNOWN_MEMBER_ID
g Empty gen 0
> fetch g t-0 t-1 t-9 u-0
#6 fetch NONE t-0:9:ßßßß t-1:8 t-9:-1 u-0:-1
g Empty gen 0
> fetch g
#7 fetch NONE t-0:9:ßßßß t-1:8
g Empty gen 0
> fetch nogroup
#8 fetch NONE
g Empty gen 0
> fetch nogroup t-0
#9 fetch NONE t-0:-1
g Empty gen 0
> commit g - -1 u-0:1 retention=5000
append g u-0@1:-1::1000000:1005000:-
#10 commit NONE
g Empty gen 0
> reload
g Empty gen 0
> fetch g
#11 fetch NONE t-0:9:ßßßß t-1:8 u-0:1
g Empty gen 0
> list
#12 list NONE [g  Empty classic]
g Empty gen 0
> list states=empty types=CLASSIC
#13 list NONE [g  Empty classic]
g Empty gen 0
> list states=Stable
#14 list NONE
g Empty gen 0
> list types=consumer
#15 list NONE
g Empty gen 0
> delete-offsets g t-0 t-0 t-9
append no offset g t-0
append no offset g t-0
#16 delete-offsets NONE: NONE NONE NONE
g Empty gen 0
> delete-offsets nogroup t-0
#17 delete-offsets GROUP_ID_NOT_FOUND:
g Empty gen 0
> fetch g
#18 fetch NONE t-1:8 u-0:1
g Empty gen 0
> describe g
#19 describe NONE Empty type= protocol=
g Empty gen 0
# By topic id: another topic of the same name has no offset.
> commit g - -1 v-0:1 id=1
append g v-0@1:-1::1000000:-1:AAAAAAAAAAAAAAAAAAAAAQ
#20 commit NONE
g Empty gen 0
> fetch g v-0 id=1
#21 fetch NONE v-0:1
g Empty gen 0
> fetch g v-0 id=2
#22 fetch NONE v-0:-1
g Empty gen 0
> fetch g v-0
#23 fetch NONE v-0:1
g Empty gen 0
> topic-deleted v id=2
g Empty gen 0
> wait 0
g Empty gen 0
> topic-deleted v id=1
g Empty gen 0
> wait 0
append no offset g v-0
g Empty gen 0
> delete g
append no offset g t-1
append no offset g u-0
append no group g
#26 delete NONE
> delete g
#27 delete GROUP_ID_NOT_FOUND
> reload
> fetch g
#28 fetch NONE

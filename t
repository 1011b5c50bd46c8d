# started on Wed Nov 25 23:47:13 2026


 Performance counter stats for '/tmp/kt/ts':

        9532773812      instructions                                                        # exact

       4.504786473 seconds time elapsed

       2.353852000 seconds user
       0.090695000 seconds sys

killed: at most 1024 instructions short (16 tasks)


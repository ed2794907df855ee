set terminal svg
set output picture
plot no_such_variable

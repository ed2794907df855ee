set output picture

module driver

go 1.22

require github.com/redis/rueidis v1.0.60

module driver

go 1.22

require (
	github.com/bsm/redislock v0.9.4
	github.com/redis/go-redis/v9 v9.7.0
)

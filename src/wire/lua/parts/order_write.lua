-- Keeps what order.lua has read, as it is by now: all of them are texts.
call('SET', order_key, high .. ' ' .. given_ticket .. ' ' .. given_id .. ' ' .. given_at, 'PX', '60000')

-- For redis_exporter -script: the fields of INFO roost that are numbers, as names and values in turn.
-- Two of them also have the names that valkey-bloom gives them.
local also = { roost_keys = "bf_bloom_num_objects", roost_bytes_memory = "bf_bloom_total_memory_bytes" }
local found = {}
for name, value in string.gmatch(redis.call("INFO", "roost"), "(roost_[%w_]+):(%d+)\r") do
  table.insert(found, name)
  table.insert(found, value)
  if also[name] then
    table.insert(found, also[name])
    table.insert(found, value)
  end
end
return found

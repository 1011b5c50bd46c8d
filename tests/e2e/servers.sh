#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Servers behave counted as they do natively: what their clients say is the same.  PostgreSQL refuses to be
# root, so it is run by nobody's account where the test is root.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/twice.bash
. "$(dirname "$0")/twice.bash"

# A port that nobody listens at; by the test's number so that two tests do not meet.
port=$((20000 + $$ % 10000))

redis_server()
{
	cat >run.sh <<-END
	redis-server --port $port --save '' --daemonize no >/dev/null &
	until redis-cli -p $port ping >/dev/null 2>&1; do sleep 0.02; done
	redis-benchmark -p $port -n 3000 -c 20 -q -t set,get,lpush,lrange_100 >bench 2>&1; echo "bench \$?"
	grep -c 'requests per second' bench; rm bench
	redis-cli -p $port eval 'return {KEYS[1], ARGV[1] + 1}' 1 k 41
	redis-cli -p $port set a b; redis-cli -p $port get a; redis-cli -p $port bgsave >/dev/null
	redis-cli -p $port shutdown nosave; wait; echo "server \$?"; rm -f *.rdb
	END
}

postgres_cluster()
{
	cat >run.sh <<-END
	PATH=$(echo /usr/lib/postgresql/*/bin | awk '{ print $NF }'):\$PATH D=\$PWD/data
	initdb -D \$D -A trust --no-sync -E UTF8 --locale=C >/dev/null 2>&1; echo "initdb \$?"
	pg_ctl -D \$D -o "-p $port -k \$PWD -h ''" -w -l log start >/dev/null; echo "start \$?"
	psql -h \$PWD -p $port -qAt postgres <<-SQL
	create table t(a int primary key, b text); create index on t(b);
	insert into t select i, md5(i::text) from generate_series(1, 20000) i;
	select count(*), min(b) from t where a % 7 = 0; analyze t;
	explain (costs off) select * from t where b = 'x';
	select sum(a) from t t1 join t t2 using (a); select 1 / 0;
	SQL
	pgbench -h \$PWD -p $port -i -q -s 1 postgres >/dev/null 2>&1; echo "init \$?"
	pgbench -h \$PWD -p $port -c 4 -j 2 -t 50 -n postgres 2>/dev/null | grep -E 'processed|failed'
	pg_ctl -D \$D -m fast -w stop >/dev/null; echo "stop \$?"; rm -rf \$D log
	END
	chmod a+rwx . run.sh
}

nginx_server()
{
	text
	mkdir logs
	cat >nginx.conf <<-END
	user root;
	worker_processes 2; daemon off; pid nginx.pid; error_log /dev/null;
	events { worker_connections 64; }
	http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
	scgi_temp_path s; gzip on; gzip_types *; gzip_min_length 1;
	server { listen 127.0.0.1:$port; root .; location /old { return 301 /new; } } }
	END
	cat >run.sh <<-END
	nginx -p . -c nginx.conf & url=http://127.0.0.1:$port
	until curl -s \$url/text -o /dev/null; do sleep 0.02; done
	curl -sS \$url/text | md5sum; curl -sS --compressed \$url/text | md5sum
	curl -sS -o /dev/null -w '%{http_code}\n' \$url/none \$url/old
	seq 40 | xargs -P 8 -I{} curl -sS -r {}-99 \$url/text | wc -c
	nginx -p . -c nginx.conf -s reload 2>/dev/null; curl -sS \$url/text | md5sum
	nginx -p . -c nginx.conf -s quit 2>/dev/null; wait; echo "server \$?"; rm -rf b p f u s logs
	END
}

both "redis and its benchmark" 0 redis_server bash run.sh
both "nginx: master, workers, reload" 0 nginx_server bash run.sh
if [ -x "$(echo /usr/lib/postgresql/*/bin/initdb | awk '{ print $1 }')" ]; then
	if [ "$(id -u)" = 0 ]; then
		chmod 777 "$tmp"
		both "postgres: initdb, clients, pgbench" 0 postgres_cluster \
			setpriv --reuid=65534 --regid=65534 --clear-groups bash run.sh
	else
		both "postgres: initdb, clients, pgbench" 0 postgres_cluster bash run.sh
	fi
else
	skip "postgres: initdb, clients, pgbench" "no postgresql"
fi
done_testing

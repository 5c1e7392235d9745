# rematd in a container: built in one Debian, run in another without a compiler.
# `make image-check` carries these steps out without Docker and tries the result.

FROM debian:bookworm-slim AS build
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      make
WORKDIR /src
COPY Makefile ./
COPY deploy ./deploy
RUN make deps
COPY core ./core
COPY proto ./proto
COPY server ./server
RUN make && \
    install -D -s -m 755 build/rematd /out/usr/local/bin/rematd && \
    install -D -s -m 755 build/remat /out/usr/local/bin/remat

FROM debian:bookworm-slim
# A daemon without privileges needs no program that grants any: all setuid and
# setgid bits go. The data directory belongs to the daemon's user, and so does a
# volume that starts as its copy.
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      libgnutls30 libjansson4 libmicrohttpd12 libsqlite3-0 libssl3 \
      libuv1 libzstd1 zlib1g && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/*.log && \
    find / -xdev -type f -perm /6000 -exec chmod a-s {} + && \
    install -d -o 65532 -g 65532 -m 700 /var/lib/rematd
COPY --from=build /out/usr/local/bin /usr/local/bin
COPY LICENSE /usr/local/share/doc/rematd/LICENSE
COPY deploy/image/rematd.conf /etc/rematd/rematd.conf
LABEL org.opencontainers.image.title="rematd" \
      org.opencontainers.image.description="Which values of a training step to save and which to recompute, as PyTorch's min-cut partitioner decides" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="BSD-3-Clause"
# A number, so that an orchestrator can see that it is not root. It owns the
# volume and nothing else; the root may be read-only.
USER 65532:65532
VOLUME ["/var/lib/rematd"]
EXPOSE 7433 7434
STOPSIGNAL SIGTERM
# The admin listener, which answers under any load.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 \
    CMD ["remat", "ping", "http://127.0.0.1:7434"]
# Addresses, data directory and who may ask stand in a file, so that a mounted
# one replaces them.
ENTRYPOINT ["rematd", "--config", "/etc/rematd/rematd.conf"]

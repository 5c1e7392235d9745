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
# setgid bits go.
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      libjansson4 libmicrohttpd12 libssl3 libuv1 && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/*.log && \
    find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=build /out/usr/local/bin /usr/local/bin
COPY LICENSE /usr/local/share/doc/rematd/LICENSE
LABEL org.opencontainers.image.title="rematd" \
      org.opencontainers.image.description="Which values of a training step to save and which to recompute, as PyTorch's min-cut partitioner decides" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="BSD-3-Clause"
# A number, so that an orchestrator can see that it is not root. It owns nothing
# here: the daemon writes no file and the root may be read-only.
USER 65532:65532
EXPOSE 7433
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 \
    CMD ["remat", "ping", "http://127.0.0.1:7433"]
# A container's loopback is of no use to its callers, so it listens on every
# address and says, as it must, that anybody who reaches it may ask.
ENTRYPOINT ["rematd", "--listen", "0.0.0.0:7433", "--anonymous"]

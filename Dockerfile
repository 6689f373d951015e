# Python, gcc and make: all that the README's two commands need.
#
#     docker build -t minigrad .
#     docker run --rm -it minigrad make demo
#     docker run --rm -it minigrad make test
#     docker run --rm -it -p 8888:8888 minigrad make lab LAB_ARGS="--ip=0.0.0.0 --allow-root --no-browser"
FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc git libc6-dev make python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /home/minigrad
COPY . .
CMD ["make", "demo"]

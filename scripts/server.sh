#!/usr/bin/env bash
# Make the environment of one model server that tests/servers starts.
#
#   scripts/server.sh NAME      transformers, llama-cpp or vllm
#
# It is a venv of its own, .venv-serve-NAME, and holds requirements/serve-NAME.txt.
# llama-cpp is compiled: 10 minutes on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/system.sh
source scripts/venv.sh

name=$1
venv=.venv-serve-$name
lock=requirements/serve-$name.txt
key=$(cat "$lock" scripts/server.sh | cksum)
if [ "$(cat "$venv/.set-up" 2>/dev/null)" = "$key" ]; then
  exit 0
fi

# llama-server and the libraries under llama-cpp-python, from one compilation. The source
# stays, for it holds the converter from a folder of transformers to GGUF.
compile_llama_cpp() {
  local missing=() tool
  for tool in cmake g++ make; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
  rm -rf "$venv/sdist" "$venv/source" "$venv/build"
  "${pip[@]}" download --quiet --no-deps --no-binary llama-cpp-python \
    --dest "$venv/sdist" "$(locked llama-cpp-python)"
  mkdir "$venv/source"
  tar -xzf "$venv"/sdist/*.tar.gz --strip-components 1 -C "$venv/source"
  cmake -S "$venv/source/vendor/llama.cpp" -B "$venv/build" -DCMAKE_BUILD_TYPE=Release \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
    -DLLAMA_OPENSSL=OFF >/dev/null
  cmake --build "$venv/build" --target llama-server --parallel "$(nproc)" >/dev/null
  CMAKE_ARGS=-DLLAMA_BUILD=OFF "${pip[@]}" install --quiet --no-deps "./$venv/source"
}

locked() { # locked PACKAGE: its line of the lock, without the comment
  grep -o "^$1==[^ ]*" "$lock"
}

echo "Setting up $venv from $lock (once; minutes)"
[ -x "$venv/bin/python" ] || make_venv "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)
if torch=$(locked torch); then
  # shellcheck disable=SC2046  # two words or none
  "${pip[@]}" install --quiet $(torch_source "$venv") "$torch"
fi
# Nothing is resolved anew: the lock names all of it.
grep -v '^llama-cpp-python==' "$lock" | "${pip[@]}" install --quiet --no-deps -r /dev/stdin
if [ "$name" = llama-cpp ]; then
  compile_llama_cpp
fi
echo "$key" >"$venv/.set-up"

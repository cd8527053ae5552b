# Completion of weft's command line, for bash.
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "run show export grad vmap jit bench compile view check devices doctor help --help --version" -- "$word"))
    return
  fi
  case $before in
    --inputs | --outputs | --constants) COMPREPLY=($(compgen -f -X '!*.npz' -- "$word") $(compgen -d -- "$word")); return ;;
    --backend) COMPREPLY=($(compgen -W "interp cpu cuda" -- "$word")); return ;;
    --platform) COMPREPLY=($(compgen -W "cpu cuda" -- "$word")); return ;;
    --form) COMPREPLY=($(compgen -W "jaxpr kernels schedule llvm asm ptx" -- "$word")); return ;;
    --output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    --targets) COMPREPLY=($(compgen -W "native x86-64 x86-64-v2 x86-64-v3 x86-64-v4 aarch64" -- "$word")); return ;;
    --wrt | --size | --seconds) return ;;
  esac
  case $command in
    run) options="--inputs --outputs --backend" ;;
    show) options="--constants" ;;
    export) options="--output --constants" ;;
    grad) options="--wrt --output --constants" ;;
    vmap) options="--size --output --constants" ;;
    jit) options="--form --constants" ;;
    bench) options="--inputs --seconds --backend" ;;
    compile) options="--output --targets --grad --constants" ;;
    view) options="--output --inputs --unmeasured --constants" ;;
    check) options="--backend" ;;
    devices) options="--platform" ;;
    doctor) options="--variables" ;;
    help) COMPREPLY=($(compgen -W "run show export grad vmap jit bench compile view check devices doctor" -- "$word")); return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options --help" -- "$word"))
  else
    COMPREPLY=($(compgen -f -X '!*.@(jaxpr|mlir|mlirbc|exported)' -- "$word") $(compgen -d -- "$word"))
  fi
}
complete -o filenames -F _weft weft

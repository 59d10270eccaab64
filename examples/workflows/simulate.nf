// Nextflow: jobs of 4 ranks in an image.
//
// PATH=PREFIX/shim:$PATH nextflow run simulate.nf -with-apptainer --image IMAGE
process simulate {
    container params.image
    containerOptions '--mpiimport=mpich'
    errorStrategy 'retry'
    maxRetries 2

    input:
    path program
    val count

    output:
    stdout

    script:
    "mpiexec -n 4 python3 $program $count"
}

workflow {
    simulate(file("$projectDir/simulation.py"), channel.of(1000, 2000)).view()
}

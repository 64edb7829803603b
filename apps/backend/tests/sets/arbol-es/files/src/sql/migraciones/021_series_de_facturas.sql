-- Numeración sin huecos: una fila por serie y ejercicio en lugar de una secuencia.

CREATE TABLE series (
    serie     text NOT NULL CHECK (serie IN ('A', 'B', 'R')),
    ejercicio integer NOT NULL CHECK (ejercicio BETWEEN 2020 AND 2099),
    ultimo    integer NOT NULL DEFAULT 0,
    cerrada   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (serie, ejercicio)
);

INSERT INTO series (serie, ejercicio, ultimo)
SELECT substr(numero, 1, 1), 2000 + substr(numero, 2, 2)::integer, max(split_part(numero, '-', 2)::integer)
FROM facturas
GROUP BY 1, 2;

DROP SEQUENCE IF EXISTS facturas_numero_seq;

-- Una factura emitida no se toca.
CREATE FUNCTION factura_inmutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'la factura % ya está emitida: rectifícala con la serie R', OLD.numero;
END
$$;

CREATE TRIGGER facturas_inmutables
    BEFORE UPDATE OF numero, total_centimos, comercio_id OR DELETE ON facturas
    FOR EACH ROW WHEN (OLD.emitida)
    EXECUTE FUNCTION factura_inmutable();

"""Training from Python; each kind of ``celadon train`` is one function.

- :func:`celadon.train.language_models.lm.train_lm`, :func:`celadon.train.language_models.ngrams.train_ngram`,
  :func:`celadon.train.language_models.word_vectors.train_vectors`
- :func:`celadon.train.encoders.teacher.train_teacher`,
  :func:`celadon.train.encoders.acceptability.train_acceptability`,
  :func:`celadon.train.encoders.sentence_order.train_order`
- :func:`celadon.train.combinations.celadon.fit_celadon`, :func:`celadon.train.combinations.combine.train_combination`,
  :func:`celadon.train.combinations.morcela.train_morcela`, :func:`celadon.train.combinations.sumqe.train_sumqe`,
  :func:`celadon.train.combinations.gleu.train_gleu`
- :func:`celadon.train.parsers.training.train_parser`, :func:`celadon.train.realizer.fergus.train_fergus`
"""
